//! The rows of a table in parts, which may lie in a file instead of memory, so that a run's memory does not grow with
//! what it reports.
//!
//! A part in the file has the values of its columns one after the other, then the texts of the columns of texts.

use super::hash::Hashed;
use super::table::{Column, Table, Values};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

/// A file, or what serves as one.
pub trait Store: Read + Write + Seek + Send {}

impl<T: Read + Write + Seek + Send> Store for T {}

/// A place for rows outside memory. The simulator reads no system state, so its caller opens the files.
pub trait Spool: Send {
    /// Opens an empty file, which is called for once there are more rows than stay in memory.
    ///
    /// # Errors
    /// If there can't be one; the run then has no result.
    fn open(&mut self) -> io::Result<Box<dyn Store>>;

    /// Returns the number of rows that leave memory together.
    fn part_rows(&self) -> usize;

    /// Opens the file that an earlier process filled, without what follows its first `len` bytes.
    ///
    /// # Errors
    /// If it is not there or shorter, or if this spool keeps no files.
    fn reopen(&mut self, len: u64) -> io::Result<Box<dyn Store>> {
        Err(io::Error::other(format!("the file with {len} bytes of rows was not kept")))
    }

    /// Waits until the disk has all that was written to the file.
    ///
    /// # Errors
    /// If the disk fails.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The rows of a table, in parts.
#[derive(Default, Serialize, Deserialize)]
pub struct Rows {
    parts: Vec<Part>,
    rows: usize,
    #[serde(skip)]
    spool: Option<Box<dyn Spool>>,
    #[serde(skip)]
    store: Option<Box<dyn Store>>,
    end: u64,
    #[serde(skip)]
    failed: Option<io::Error>,
}

#[derive(Serialize, Deserialize)]
enum Part {
    Stored(Stored),
    /// The last part, which is added when the run is over: no checkpoint meets it. It stands last, since variants behind
    /// one that is left out are written and read by different numbers.
    #[serde(skip)]
    Memory(Arc<Table>),
}

/// A part in the file.
#[derive(Serialize, Deserialize)]
struct Stored {
    /// The table without its rows and texts.
    #[serde(skip)]
    head: Table,
    /// For each column, where its values start, and where its texts do.
    places: Vec<(u64, u64)>,
    end: u64,
}

impl Rows {
    /// Makes a table without rows whose parts go to a file of the spool.
    pub fn spooled(spool: Box<dyn Spool>) -> Rows {
        Rows { spool: Some(spool), ..Rows::default() }
    }

    /// Returns the number of rows of a part if parts go to a file; more than there can be if not.
    pub fn part_rows(&self) -> usize {
        self.spool.as_ref().map_or(usize::MAX, |spool| spool.part_rows())
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Returns whether rows lie in a file.
    pub fn is_stored(&self) -> bool {
        self.store.is_some()
    }

    /// Returns the fault of the file, after which rows are lost.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    /// Returns whether the file failed.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Adds the last part, which stays in memory if no other has left it.
    pub fn finish(&mut self, table: Table) {
        if self.is_stored() {
            self.push(table);
        } else {
            self.rows += table.rows();
            self.parts.push(Part::Memory(Arc::new(table)));
        }
    }

    /// Adds a part, which goes to the file.
    pub fn push(&mut self, table: Table) {
        self.rows += table.rows();
        match self.write(table) {
            Ok(stored) => self.parts.push(Part::Stored(stored)),
            Err(error) => _ = self.failed.get_or_insert(error),
        }
    }

    /// Waits until the disk has the parts in the file.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn sync(&mut self) -> io::Result<()> {
        let (Some(store), Some(spool)) = (&mut self.store, &mut self.spool) else { return Ok(()) };
        store.flush()?;
        spool.sync()
    }

    /// Takes the spool out, for rows of a checkpoint that take the place of these.
    pub fn take_spool(&mut self) -> Option<Box<dyn Spool>> {
        self.spool.take()
    }

    /// Gives rows of a checkpoint their spool, whose file has their parts, and the table that they are of.
    ///
    /// # Errors
    /// If the file is not there.
    pub fn attach(&mut self, spool: Option<Box<dyn Spool>>, table: impl FnOnce() -> Table) -> io::Result<()> {
        self.spool = spool;
        if self.parts.is_empty() {
            return Ok(());
        }
        let missing = || io::Error::other("rows of the run lie in a file, and no folder with it was given");
        self.store = Some(self.spool.as_mut().ok_or_else(missing)?.reopen(self.end)?);
        let table = table().emptied();
        for part in &mut self.parts {
            if let Part::Stored(stored) = part {
                stored.head = table.clone();
            }
        }
        Ok(())
    }

    fn write(&mut self, table: Table) -> io::Result<Stored> {
        let store = match &mut self.store {
            Some(store) => store,
            None => {
                let spool = self.spool.as_mut().expect("only rows with a spool leave memory");
                self.store.insert(spool.open()?)
            }
        };
        store.seek(SeekFrom::Start(self.end))?;
        let mut places = Vec::new();
        for column in &table.columns {
            let bytes = column.values.to_bytes();
            store.write_all(&bytes)?;
            let texts = self.end + bytes.len() as u64;
            places.push((self.end, texts));
            self.end = texts;
            if let Values::Text(_, names) = &column.values {
                let joined = names.join("\0");
                store.write_all(joined.as_bytes())?;
                self.end += joined.len() as u64;
            }
        }
        Ok(Stored { head: table.emptied(), places, end: self.end })
    }

    /// Reads a part.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn read(&mut self, part: usize) -> io::Result<Arc<Table>> {
        match &self.parts[part] {
            Part::Memory(table) => Ok(table.clone()),
            Part::Stored(stored) => {
                let store = self.store.as_mut().expect("a part that is stored has a store");
                let columns = (0..stored.places.len()).map(|column| stored.column(store, column));
                let columns = columns.collect::<io::Result<_>>()?;
                Ok(Arc::new(Table { name: stored.head.name, columns }))
            }
        }
    }

    /// Replaces rows of a part, each given by its index there, by those of a table.
    pub fn replace(&mut self, part: usize, indices: &[usize], rows: &Table) {
        if self.failed.is_none() {
            self.failed = self.try_replace(part, indices, rows).err();
        }
    }

    fn try_replace(&mut self, part: usize, indices: &[usize], rows: &Table) -> io::Result<()> {
        let Part::Stored(stored) = &self.parts[part] else { unreachable!("only rows in the file are late") };
        let store = self.store.as_mut().expect("a part that is stored has a store");
        for (index, column) in rows.columns.iter().enumerate() {
            let (bytes, width) = (column.values.to_bytes(), column.values.width());
            for (row, &at) in indices.iter().enumerate() {
                store.seek(SeekFrom::Start(stored.places[index].0 + (at * width) as u64))?;
                store.write_all(&bytes[row * width..(row + 1) * width])?;
            }
        }
        Ok(())
    }

    /// Returns all rows as one table in memory.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn table(&mut self) -> io::Result<Arc<Table>> {
        if self.parts.len() == 1 {
            return self.read(0);
        }
        let mut whole = Table::clone(&*self.read(0)?);
        for part in 1..self.parts.len() {
            whole.append(&*self.read(part)?);
        }
        Ok(Arc::new(whole))
    }

    /// Adds the rows to a hash as [`Table::hash_into`] does. The texts of all parts must be the same, as those of flows are.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn hash_into(&mut self, hasher: &mut blake3::Hasher) -> io::Result<()> {
        let first = self.read(0)?;
        hasher.update(first.name.as_bytes());
        for (index, column) in first.columns.iter().enumerate() {
            let is_hashed = match column.hashed {
                Hashed::Always => true,
                Hashed::WhereItCounts => self.any(index, Values::count)?,
                Hashed::Never => false,
            };
            if is_hashed {
                column.hash_head(self.rows, hasher);
                self.any(index, |values| {
                    values.hash_into(hasher);
                    false
                })?;
            }
        }
        Ok(())
    }

    /// Shows the values of a column part by part, until `found` returns true. Returns whether it did.
    fn any(&mut self, index: usize, mut found: impl FnMut(&Values) -> bool) -> io::Result<bool> {
        for part in &self.parts {
            let is_found = match part {
                Part::Memory(table) => found(&table.columns[index].values),
                Part::Stored(stored) => {
                    let store = self.store.as_mut().expect("a part that is stored has a store");
                    found(&stored.column(store, index)?.values)
                }
            };
            if is_found {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Stored {
    /// Reads a column.
    fn column(&self, store: &mut Box<dyn Store>, index: usize) -> io::Result<Column> {
        let (start, texts) = self.places[index];
        let end = self.places.get(index + 1).map_or(self.end, |next| next.0);
        let mut bytes = vec![0; (end - start) as usize];
        store.seek(SeekFrom::Start(start))?;
        store.read_exact(&mut bytes)?;
        let head = &self.head.columns[index];
        let (values, names) = bytes.split_at((texts - start) as usize);
        Ok(Column { values: head.values.filled(values, names)?, ..head.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A spool in memory.
    struct Memory;

    impl Spool for Memory {
        fn open(&mut self) -> io::Result<Box<dyn Store>> {
            Ok(Box::new(Cursor::new(Vec::new())))
        }

        fn part_rows(&self) -> usize {
            2
        }
    }

    /// A spool on a disk that is full.
    struct Full;

    impl Spool for Full {
        fn open(&mut self) -> io::Result<Box<dyn Store>> {
            Err(io::Error::other("no space left"))
        }

        fn part_rows(&self) -> usize {
            2
        }
    }

    fn table(numbers: &[u64], texts: &[&str]) -> Table {
        let names: Vec<String> = texts.iter().map(|text| (*text).to_string()).collect();
        let indices = (0..numbers.len() as u32).map(|index| index % texts.len() as u32).collect();
        let reals = numbers.iter().map(|number| *number as f64 / 3.0).collect();
        Table::new(
            "t",
            [
                ("a", "B", "", Values::U64(numbers.to_vec())),
                ("b", "s", "", Values::F64(reals)),
                ("c", "", "", Values::Text(indices, names)),
            ],
        )
    }

    fn hash(of: impl FnOnce(&mut blake3::Hasher)) -> String {
        let mut hasher = blake3::Hasher::new();
        of(&mut hasher);
        hasher.finalize().to_hex().to_string()
    }

    #[test]
    fn rows_in_a_file_are_the_rows_that_were_written() {
        let mut rows = Rows::spooled(Box::new(Memory));
        rows.push(table(&[1, 2], &["x", "y"]));
        rows.push(table(&[3, 9, 9], &["x", "y"]));
        rows.finish(table(&[6], &["x", "y"]));
        rows.replace(1, &[1, 2], &table(&[4, 5], &["y", "x"]));
        assert!(rows.is_stored() && !rows.has_failed());
        assert_eq!((rows.len(), rows.parts()), (6, 3));
        let whole = rows.table().unwrap();
        assert_eq!(whole.u64s("a"), [1, 2, 3, 4, 5, 6]);
        assert_eq!(whole.f64s("b")[3], 4.0 / 3.0);
        let Values::Text(indices, names) = &whole.column("c").unwrap().values else { panic!("texts") };
        assert_eq!((indices.as_slice(), names.join(" ")), ([0, 1, 0, 0, 1, 0].as_slice(), "x y".into()));
        let in_file = hash(|hasher| rows.hash_into(hasher).unwrap());
        assert_eq!(in_file, hash(|hasher| whole.hash_into(hasher)));
    }

    #[test]
    fn parts_with_other_texts_keep_them() {
        let mut rows = Rows::spooled(Box::new(Memory));
        rows.push(table(&[1, 2], &["x", "y"]));
        rows.push(table(&[3, 4], &["y", "z"]));
        let whole = rows.table().unwrap();
        let Values::Text(indices, names) = &whole.column("c").unwrap().values else { panic!("texts") };
        let texts: Vec<&str> = indices.iter().map(|index| names[*index as usize].as_str()).collect();
        assert_eq!(texts, ["x", "y", "y", "z"]);
    }

    #[test]
    fn few_rows_stay_in_memory_and_a_full_disk_is_told() {
        let mut rows = Rows::spooled(Box::new(Memory));
        rows.finish(table(&[1], &["x"]));
        assert!(!rows.is_stored());
        assert_eq!(rows.table().unwrap().u64s("a"), [1]);
        let mut rows = Rows::spooled(Box::new(Full));
        rows.push(table(&[1, 2], &["x"]));
        assert_eq!(rows.take_failure().unwrap().to_string(), "no space left");
    }
}
