//! The improvement of a cut: groups leave parts that have too much to do, and move where fewer packets then cross.

use super::cut::{Cut, Graph};

/// The most times that all groups are looked at.
const PASSES: usize = 8;

/// Evens out the loads of a cut's parts, and then makes the cut smaller as long as that keeps them even.
pub fn refine(cut: &mut Cut, graph: &Graph) {
    for _ in 0..PASSES {
        if !even_out(cut, graph) {
            break;
        }
    }
    for _ in 0..PASSES {
        if !shrink(cut, graph) {
            break;
        }
    }
}

/// Moves groups out of parts above the limit, those first that add the fewest packets to the cut for the load that they
/// take away. Returns whether any moved.
fn even_out(cut: &mut Cut, graph: &Graph) -> bool {
    let is_over = |cut: &Cut, group: usize| cut.loads[cut.part_of[group] as usize] > cut.limit;
    let mut moves: Vec<(f64, usize)> = graph
        .members
        .iter()
        .copied()
        .filter(|&group| graph.loads[group] > 0.0 && is_over(cut, group))
        .map(|group| {
            let ties = cut.ties(group, graph);
            let own = cut.part_of[group] as usize;
            let best = (0..ties.len()).filter(|&part| part != own).map(|part| ties[part]).fold(0.0, f64::max);
            ((ties[own] - best) / graph.loads[group], group)
        })
        .collect();
    moves.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut has_moved = false;
    for (_, group) in moves {
        if is_over(cut, group) {
            let (own, load) = (cut.part_of[group] as usize, graph.loads[group]);
            let ties = cut.ties(group, graph);
            let fits = |part: &usize| *part != own && cut.loads[*part] + load < cut.limit.min(cut.loads[own]);
            let strongest = |a: &usize, b: &usize| {
                ties[*a].total_cmp(&ties[*b]).then(cut.loads[*b].total_cmp(&cut.loads[*a]))
            };
            let emptiest = |a: &usize, b: &usize| cut.loads[*a].total_cmp(&cut.loads[*b]);
            let parts = 0..cut.loads.len();
            let room = parts.clone().filter(fits).max_by(strongest);
            // Where nothing fits below the limit, the emptiest part helps if it then still has less than this one.
            let lighter = parts.min_by(emptiest).filter(|&part| cut.loads[part] + load < cut.loads[own]);
            if let Some(part) = room.or(lighter) {
                cut.put(group, part, graph);
                has_moved = true;
            }
        }
    }
    has_moved
}

/// Moves groups to parts to which more of their packets go, where these have room. Returns whether any moved.
fn shrink(cut: &mut Cut, graph: &Graph) -> bool {
    let mut has_moved = false;
    for &group in &graph.members {
        let own = cut.part_of[group] as usize;
        let is_inside = |&(other, _): &(u32, f64)| cut.part_of[other as usize] as usize == own;
        if graph.ties[group].iter().all(is_inside) {
            continue;
        }
        let ties = cut.ties(group, graph);
        let load = graph.loads[group];
        let gains = |part: &usize| {
            ties[*part] > ties[own] * (1.0 + 1e-9) && cut.loads[*part] + load <= cut.limit.max(cut.loads[own])
        };
        let best = (0..ties.len()).filter(gains).max_by(|a, b| ties[*a].total_cmp(&ties[*b]));
        if let Some(part) = best {
            cut.put(group, part, graph);
            has_moved = true;
        }
    }
    has_moved
}
