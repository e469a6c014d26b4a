//! Tables of results as columns, from which data frames, Parquet files and the hash are made.

use super::hash::Hashed;
use std::collections::BTreeMap;
use std::io;

/// A table whose columns are all of the same length.
#[derive(Clone, Default, Debug)]
pub struct Table {
    /// The table's name: `flows`, `ports` or `samples`.
    pub name: &'static str,
    /// The table's columns.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// The column's name.
    pub name: &'static str,
    /// The unit of the values; empty if they have none.
    pub unit: &'static str,
    /// The meaning of a value.
    pub doc: &'static str,
    /// The values.
    pub values: Values,
    /// The runs whose hashes cover the column.
    pub hashed: Hashed,
}

/// A column as (name, unit, meaning, values).
pub type Described = (&'static str, &'static str, &'static str, Values);

/// The values of a column.
#[derive(Clone, Debug)]
pub enum Values {
    /// Integers.
    U64(Vec<u64>),
    /// Real numbers; NaN where a row has no value.
    F64(Vec<f64>),
    /// Texts from a small set: the index into the set for each row, and the set.
    Text(Vec<u32>, Vec<String>),
}

impl Values {
    /// Makes a column of integers most of which are zero. Zeros are not written, since the system hands out pages of
    /// zeros, which take memory once they are written.
    pub fn sparse_ints(values: impl ExactSizeIterator<Item = u64>) -> Values {
        let mut column = vec![0; values.len()];
        for (place, value) in column.iter_mut().zip(values).filter(|(_, value)| *value != 0) {
            *place = value;
        }
        Values::U64(column)
    }

    /// Makes a column of real numbers most of which are zero, as [`Values::sparse_ints`] does.
    pub fn sparse_reals(values: impl ExactSizeIterator<Item = f64>) -> Values {
        let mut column = vec![0.0; values.len()];
        for (place, value) in column.iter_mut().zip(values).filter(|(_, value)| value.to_bits() != 0) {
            *place = value;
        }
        Values::F64(column)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::U64(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::Text(values, _) => values.len(),
        }
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Table {
    /// Makes a table of these columns.
    pub fn new(name: &'static str, columns: impl IntoIterator<Item = Described>) -> Table {
        let column = |(column, unit, doc, values)| Column {
            name: column,
            unit,
            doc,
            values,
            hashed: Hashed::of(name, column),
        };
        Table { name, columns: columns.into_iter().map(column).collect() }
    }

    /// Adds columns that tell how the run was observed, which the hash leaves out.
    pub fn observe(&mut self, columns: impl IntoIterator<Item = Described>) {
        let column = |(name, unit, doc, values)| Column { name, unit, doc, values, hashed: Hashed::Never };
        self.columns.extend(columns.into_iter().map(column));
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Returns the column of a name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the values of a column of integers.
    ///
    /// # Panics Panics if there is no such column or its values are not integers. Names are fixed, so that is a mistake
    /// in the code.
    pub fn u64s(&self, name: &str) -> &[u64] {
        match self.column(name).map(|column| &column.values) {
            Some(Values::U64(values)) => values,
            _ => panic!("{}.{name} is no column of integers", self.name),
        }
    }

    /// Returns the values of a column of real numbers.
    ///
    /// # Panics
    /// Panics as [`Table::u64s`] does.
    pub fn f64s(&self, name: &str) -> &[f64] {
        match self.column(name).map(|column| &column.values) {
            Some(Values::F64(values)) => values,
            _ => panic!("{}.{name} is no column of real numbers", self.name),
        }
    }

    /// Returns the table without its rows and texts.
    pub fn emptied(self) -> Table {
        let empty = |column: Column| Column { values: column.values.emptied(), ..column };
        Table { name: self.name, columns: self.columns.into_iter().map(empty).collect() }
    }

    /// Adds the rows of a table with the same columns.
    pub fn append(&mut self, other: &Table) {
        for (column, other) in self.columns.iter_mut().zip(&other.columns) {
            column.values.append(&other.values);
        }
    }

    /// Adds the names, units and values of the columns that a hash of this run covers.
    pub fn hash_into(&self, hasher: &mut blake3::Hasher) {
        hasher.update(self.name.as_bytes());
        for column in &self.columns {
            let is_hashed = match column.hashed {
                Hashed::Always => true,
                Hashed::WhereItCounts => column.values.count(),
                Hashed::Never => false,
            };
            if is_hashed {
                column.hash_head(column.values.len(), hasher);
                column.values.hash_into(hasher);
            }
        }
    }
}

impl Column {
    /// Adds name, unit, number of rows and texts to a hash.
    pub fn hash_head(&self, rows: usize, hasher: &mut blake3::Hasher) {
        hasher.update(self.name.as_bytes()).update(self.unit.as_bytes());
        hasher.update(&(rows as u64).to_le_bytes());
        if let Values::Text(_, names) = &self.values {
            for name in names {
                hasher.update(name.as_bytes()).update(&[0]);
            }
        }
    }
}

impl Values {
    /// Returns the bytes of a value.
    pub fn width(&self) -> usize {
        match self {
            Values::U64(_) | Values::F64(_) => 8,
            Values::Text(..) => 4,
        }
    }

    /// Returns the values as little-endian bytes, without the texts.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Values::U64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Values::F64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Values::Text(values, _) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }

    /// Values of the same kind without rows and texts.
    pub fn emptied(&self) -> Values {
        match self {
            Values::U64(_) => Values::U64(Vec::new()),
            Values::F64(_) => Values::F64(Vec::new()),
            Values::Text(..) => Values::Text(Vec::new(), Vec::new()),
        }
    }

    /// Values of the same kind from what [`Values::to_bytes`] gave, with texts that zeros divide.
    ///
    /// # Errors
    /// If the texts are not UTF-8.
    pub fn filled(&self, bytes: &[u8], texts: &[u8]) -> io::Result<Values> {
        let eights = || bytes.chunks_exact(8).map(|chunk| <[u8; 8]>::try_from(chunk).expect("eight bytes"));
        let fours = || bytes.chunks_exact(4).map(|chunk| <[u8; 4]>::try_from(chunk).expect("four bytes"));
        Ok(match self {
            Values::U64(_) => Values::U64(eights().map(u64::from_le_bytes).collect()),
            Values::F64(_) => Values::F64(eights().map(f64::from_le_bytes).collect()),
            Values::Text(..) => {
                let texts = std::str::from_utf8(texts).map_err(io::Error::other)?;
                Values::Text(
                    fours().map(u32::from_le_bytes).collect(),
                    texts.split('\0').map(String::from).collect(),
                )
            }
        })
    }

    /// Adds values of the same kind. Texts that are not among those of this column are added to them.
    ///
    /// # Panics
    /// Panics if the kinds differ, which is a mistake in the code.
    pub fn append(&mut self, other: &Values) {
        match (self, other) {
            (Values::U64(values), Values::U64(more)) => values.extend(more),
            (Values::F64(values), Values::F64(more)) => values.extend(more),
            (Values::Text(values, names), Values::Text(more, other)) if names == other => values.extend(more),
            (Values::Text(values, names), Values::Text(more, other)) => {
                let mut known: BTreeMap<String, u32> =
                    (0..).zip(names.iter()).map(|(at, name)| (name.clone(), at)).collect();
                let places: Vec<u32> = other
                    .iter()
                    .map(|name| {
                        *known.entry(name.clone()).or_insert_with(|| {
                            names.push(name.clone());
                            names.len() as u32 - 1
                        })
                    })
                    .collect();
                values.extend(more.iter().map(|index| places[*index as usize]));
            }
            _ => panic!("a column keeps its kind"),
        }
    }

    /// Returns whether a value is there other than zero, or the first text.
    pub fn count(&self) -> bool {
        match self {
            Values::U64(values) => values.iter().any(|value| *value != 0),
            Values::F64(values) => values.iter().any(|value| *value != 0.0 && !value.is_nan()),
            Values::Text(values, _) => values.iter().any(|value| *value != 0),
        }
    }

    /// Adds the values, without texts, to a hash.
    pub fn hash_into(&self, hasher: &mut blake3::Hasher) {
        match self {
            Values::U64(values) => values.iter().for_each(|value| _ = hasher.update(&value.to_le_bytes())),
            Values::F64(values) => {
                values.iter().for_each(|value| _ = hasher.update(&value.to_bits().to_le_bytes()))
            }
            Values::Text(values, _) => {
                values.iter().for_each(|value| _ = hasher.update(&value.to_le_bytes()))
            }
        }
    }
}
