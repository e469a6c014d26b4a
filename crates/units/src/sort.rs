//! A stable sort whose code is small where bytes count.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Sorts items by a key; items of equal keys keep their order. See [`sort_by`].
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts items; equal ones keep their order.
///
/// The sort of the standard library is compiled anew for each type of items, and takes about 5 KB of WebAssembly each
/// time. Everybody who opens the live page loads every byte, so there it sorts numbers of items, for all types alike.
/// Elsewhere this is the sort of the standard library.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    if cfg!(target_family = "wasm") {
        let order = sorted(items.len(), &|a, b| compare(&items[a], &items[b]));
        arrange(items, order);
    } else {
        items.sort_by(compare);
    }
}

/// Returns the numbers of so many items, in the order of the items.
#[inline(never)]
fn sorted(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

/// Moves items so that each place gets the item whose number stands there in `order`.
fn arrange<T>(items: &mut [T], mut order: Vec<usize>) {
    for start in 0..items.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut order[at], at);
            if from == start {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

/// Makes a map of pairs, of those with one key the last. It adds one pair after the other: the standard library would sort
/// them first, by code of its own for each type of pairs.
pub fn map_of<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_map_has_the_last_of_the_pairs_with_one_key() {
        let map = map_of([(2, 'a'), (1, 'b'), (2, 'c')]);
        assert_eq!(map.into_iter().collect::<Vec<_>>(), [(1, 'b'), (2, 'c')]);
    }

    proptest! {
        #[test]
        fn the_small_sort_gives_the_order_of_the_standard_library(keys in prop::collection::vec(0..20_u8, 0..100)) {
            let mut items: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            let order = sorted(items.len(), &|a, b| items[a].0.cmp(&items[b].0));
            arrange(&mut items, order);
            prop_assert_eq!(&items, &expected);
            sort_by_key(&mut items, |item| usize::MAX - item.1);
            prop_assert!(items.is_sorted_by_key(|item| usize::MAX - item.1));
        }
    }
}
