//! The list of transports by itself.

use super::*;

#[test]
fn every_default_limit_and_profile_can_be_read() {
    for info in ALL {
        let mut transport = AnyTransport::by_name(info.name).expect(info.name);
        assert_eq!(transport.info().name, info.name);
        for (name, value) in transport.write() {
            transport
                .set(name, value.trim_matches('"'))
                .unwrap_or_else(|error| panic!("{}: {error}", info.name));
        }
        for profile in info.profiles {
            transport.set("profile", profile.name).unwrap_or_else(|error| panic!("{}: {error}", info.name));
        }
    }
}

#[test]
fn a_transport_makes_agents_exactly_if_they_take_part_in_something() {
    let env = AgentEnv::for_test(Rate::gbps(10));
    let mut with = Vec::new();
    for info in ALL {
        let transport = AnyTransport::by_name(info.name).expect(info.name);
        let (scope, agent) = (transport.agent_scope(), transport.agent(&env));
        assert_eq!(scope.any(), agent.is_some(), "{}", info.name);
        assert!(scope.senders || !scope.data, "{}: data leaves sending hosts", info.name);
        assert!(agent.is_none_or(|agent| agent.sees_data() == scope.data), "{}", info.name);
        with.extend(scope.any().then_some(info.name));
    }
    assert_eq!(
        with,
        ["pac", "ictcp", "ack-shaper", "ndp", "eqds", "uec-rccc", "uec", "homa-trial", "ndp-trial"]
    );
}

#[test]
#[should_panic(expected = "no host has a link without a rate")]
fn no_agent_is_made_for_a_link_without_a_rate() {
    let _ = AnyTransport::by_name("pac").unwrap().agent(&AgentEnv::for_test(Rate::ZERO));
}

#[test]
fn the_place_of_an_end_takes_a_word() {
    assert_eq!(size_of::<Place>(), 8);
}

#[test]
fn every_transport_says_in_a_sentence_what_it_was_checked_against() {
    for info in ALL {
        let how = info.checked.how();
        assert!(how.ends_with('.') && how.len() > 40, "{}: {how:?}", info.name);
    }
}

#[test]
fn every_parameter_is_documented_with_its_source() {
    for info in ALL {
        for spec in info.params {
            assert!(!spec.doc.trim().is_empty() && !spec.source.is_empty(), "{}.{}", info.name, spec.name);
        }
    }
}

#[test]
fn the_ends_of_rdma_flows_are_small() {
    fn ends<T: Transport>() -> (&'static str, usize, usize) {
        (T::NAME, size_of::<T::Sender>(), size_of::<T::Receiver>())
    }
    use crate::rdma;
    let all = [
        ends::<rdma::rocev2::Rocev2>(),
        ends::<rdma::dcqcn::Dcqcn>(),
        ends::<rdma::timely::Timely>(),
        ends::<rdma::hpcc::Hpcc>(),
        ends::<rdma::dctcp::RdmaDctcp>(),
        ends::<rdma::pacc::Pacc>(),
    ];
    for (name, sender, receiver) in all {
        assert!(sender <= 376 && receiver <= 176, "{name}: {sender} and {receiver} bytes");
    }
}

#[test]
fn trials_are_in_no_list_for_users() {
    assert!(TRANSPORTS.iter().all(|info| !info.is_trial) && TRANSPORTS.len() == 27);
    assert_eq!(TRIALS.iter().map(|info| info.name).collect::<Vec<_>>(), ["homa-trial", "ndp-trial"]);
    assert!(AnyTransport::by_name("ndp-trial").is_some());
}
