//! Tables of results as columns, from which data frames, Parquet files and the hash are made.

/// A table whose columns are all of the same length.
#[derive(Clone, Debug)]
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
    /// True if the column tells how the run was observed, and not only what the network did. The hash leaves it out.
    pub is_observation: bool,
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
        let column = |(name, unit, doc, values)| Column { name, unit, doc, values, is_observation: false };
        Table { name, columns: columns.into_iter().map(column).collect() }
    }

    /// Adds columns that tell how the run was observed, which the hash leaves out.
    pub fn observe(&mut self, columns: impl IntoIterator<Item = Described>) {
        let column = |(name, unit, doc, values)| Column { name, unit, doc, values, is_observation: true };
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

    /// Adds the names, units and values of all columns to a hash, but for those of observation.
    pub fn hash_into(&self, hasher: &mut blake3::Hasher) {
        hasher.update(self.name.as_bytes());
        for column in self.columns.iter().filter(|column| !column.is_observation) {
            hasher.update(column.name.as_bytes()).update(column.unit.as_bytes());
            hasher.update(&(column.values.len() as u64).to_le_bytes());
            match &column.values {
                Values::U64(values) => {
                    for value in values {
                        hasher.update(&value.to_le_bytes());
                    }
                }
                Values::F64(values) => {
                    for value in values {
                        hasher.update(&value.to_bits().to_le_bytes());
                    }
                }
                Values::Text(values, names) => {
                    for name in names {
                        hasher.update(name.as_bytes()).update(&[0]);
                    }
                    for value in values {
                        hasher.update(&value.to_le_bytes());
                    }
                }
            }
        }
    }
}
