//! Least privilege: what the daemon gives up once its sockets are open and its rules are set.
//!
//! The kernel keeps privileges by thread, so they are given up before any other thread starts. The commands that undo
//! the rules inherit what is kept.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};
use std::collections::BTreeMap;

/// The capabilities that are kept: verdicts, packet sockets, and the undoing of rules need them.
const KEPT: CapabilitySet = CapabilitySet::NET_ADMIN.union(CapabilitySet::NET_RAW);

/// Gives up, for good, everything but the kept capabilities. CAP_SYS_NICE stays too, for this process alone, if it has it and
/// `keeps_nice` says that it needs it. The error says what was refused.
pub fn drop_privileges(keeps_nice: bool) -> Result<(), String> {
    let fail = |what: &str| {
        let what = what.to_owned();
        move |error: rustix::io::Errno| format!("{what}: {error}")
    };
    // The last number differs by kernel: the first unknown one ends the list.
    for number in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match capability_is_in_bounding_set(capability) {
            Ok(true) if !KEPT.contains(capability) => {
                let dropped = remove_capability_from_bounding_set(capability);
                dropped.map_err(fail("cannot shrink the bounding set of capabilities"))?;
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    let held = capabilities(None).map_err(fail("cannot read the capabilities"))?.permitted;
    let own = if keeps_nice { KEPT | held & CapabilitySet::SYS_NICE } else { KEPT };
    let sets = CapabilitySets { effective: own, permitted: own, inheritable: KEPT };
    set_capabilities(None, sets).map_err(fail("cannot keep CAP_NET_ADMIN and CAP_NET_RAW alone"))?;
    clear_ambient_capability_set().map_err(fail("cannot clear the ambient set of capabilities"))?;
    for capability in KEPT.iter() {
        let raised = configure_capability_in_ambient_set(capability, true);
        raised.map_err(fail("cannot leave a capability to commands"))?;
    }
    set_no_new_privs(true).map_err(fail("cannot forbid new privileges"))?;
    apply_filter(&filter()?).map_err(|error| format!("cannot set the filter of system calls: {error}"))
}

/// Returns the filter of system calls. It refuses those that serve to break out or to change the machine beyond its
/// network, and that neither the daemon nor iptables, tc, ip and ethtool call; a list of all that these do call would
/// be different on each distribution.
fn filter() -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let mut rules: BTreeMap<i64, Vec<_>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    // Of `bpf`, all is refused but reading a map that is open: the counters of a switch's ports.
    let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, MAP_LOOKUP_ELEM);
    let other = other.and_then(|other| SeccompRule::new(vec![other])).map_err(|error| error.to_string())?;
    rules.insert(libc::SYS_bpf, vec![other]);
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
    filter
        .and_then(TryInto::try_into)
        .map_err(|error| format!("cannot make the filter of system calls: {error}"))
}

/// The command of the system call `bpf` that reads an entry of a map.
const MAP_LOOKUP_ELEM: u64 = 1;

const REFUSED: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_personality,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_refuses_what_it_lists_and_lets_commands_run() {
        let program = filter().expect("the list is well formed");
        // The filter holds for the thread that sets it, and for those that it starts.
        let test = std::thread::spawn(move || {
            set_no_new_privs(true).expect("always allowed");
            apply_filter(&program).expect("allowed without new privileges");
            let refused = nix::unistd::chroot("/");
            let ran = std::process::Command::new("true").status();
            (refused, ran.map(|status| status.success()).ok())
        });
        let (refused, ran) = test.join().expect("no panic");
        assert_eq!((refused, ran), (Err(nix::errno::Errno::EPERM), Some(true)));
    }
}
