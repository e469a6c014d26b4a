//! The list of all transports, and enums over them. Adding a transport, with the agent and the port mechanism that it
//! brings, takes a folder beside this file and a line at its end.

use crate::agent::{Agent, AgentEnv, AgentPacket, AgentScope, AgentStats, Side};
use crate::endpoint::{Env, Receiver, ReceiverVisitor, Sender, SenderVisitor};
use crate::mechanism::{MechanismInfo, PortMechanism, PortState, Sees, Verdict};
use crate::needs::Needs;
use crate::order::Order;
use crate::packet::{Extra, Packet};
use crate::shelf::Shelf;
use crate::transport::{Conflict, Transport, TransportInfo, set_param};
use clearway_schema::{Declared, Error, Members, Value, fill, list, told};
use clearway_units::{Rate, Time};
use serde::{Deserialize, Serialize};
use std::any::Any;

type MechanismOf<T> = <T as Transport>::Mechanism;
type ConfigOf<T> = <MechanismOf<T> as PortMechanism>::Config;

/// The place of an end of a flow among those of all transports.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Place {
    transport: Which,
    at: u32,
}

macro_rules! transports {
    ($($(#[$meta:meta])* $Variant:ident = $Transport:ty;)+) => {
        /// Any transport, with its parameters.
        #[derive(Clone, Debug)]
        pub enum AnyTransport {$($(#[$meta])*
            #[doc = concat!("`", stringify!($Variant), "`")]
            $Variant(<$Transport as Transport>::Params),
        )+}

        /// Any transport, without its parameters.
        #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
        enum Which {$($(#[$meta])* $Variant,)+}

        /// The sending ends of flows, those of each transport in an array of their own: the smallest ends take 32 bytes and
        /// the largest more than ten times as many.
        #[allow(non_snake_case, reason = "a field for each transport, by its name")]
        #[derive(Default, Serialize, Deserialize)]
        pub struct Senders {
            $($(#[$meta])* $Variant: Shelf<<$Transport as Transport>::Sender>,)+
        }

        /// The receiving ends of flows, as [`Senders`].
        #[allow(non_snake_case, reason = "a field for each transport, by its name")]
        #[derive(Default, Serialize, Deserialize)]
        pub struct Receivers {
            $($(#[$meta])* $Variant: Shelf<<$Transport as Transport>::Receiver>,)+
        }

        /// The agent of a host, of any transport that has one.
        #[derive(Debug, Serialize, Deserialize)]
        pub enum AnyAgent {$($(#[$meta])*
            #[doc = concat!("`", stringify!($Variant), "`")]
            $Variant(Box<<$Transport as Transport>::Agent>),
        )+}

        /// The configuration of the port mechanism of any transport that brings one.
        #[derive(Clone, Debug)]
        pub enum AnyMechanismConfig {$($(#[$meta])*
            #[doc = concat!("`", stringify!($Variant), "`")]
            $Variant(ConfigOf<$Transport>),
        )+}

        /// The port mechanism of any transport that brings one, at one port.
        #[derive(Debug, Serialize, Deserialize)]
        pub enum AnyMechanism {$($(#[$meta])*
            #[doc = concat!("`", stringify!($Variant), "`")]
            $Variant(<$Transport as Transport>::Mechanism),
        )+}

        /// All transports, those for users first, in the order of their registration.
        static ALL: &[TransportInfo] = &[$($(#[$meta])* TransportInfo {
            name: <$Transport>::NAME,
            summary: <$Transport>::SUMMARY,
            source: told(<$Transport>::SOURCE),
            checked: <$Transport>::CHECKED.told(),
            recovers: <$Transport>::RECOVERS,
            params: <<$Transport as Transport>::Params as Declared>::SPECS,
            profiles: <$Transport>::PROFILES,
            mechanism: MechanismInfo::of::<MechanismOf<$Transport>>(),
            counts_cnps: <$Transport>::COUNTS_CNPS,
            family: <$Transport>::FAMILY,
            is_trial: <$Transport>::IS_TRIAL,
        },)+];

        impl AnyTransport {
            /// Returns the transport of a name with its default parameters, or `None`.
            pub fn by_name(name: &str) -> Option<AnyTransport> {
                let mut transport = match name {
                    $($(#[$meta])* <$Transport>::NAME => AnyTransport::$Variant(Declared::blank()),)+
                    _ => return None,
                };
                fill(transport.params(), &|_| None).expect("every parameter has a default");
                Some(transport)
            }

            fn params(&mut self) -> &mut dyn Members {
                match self { $($(#[$meta])* AnyTransport::$Variant(params) => params,)+ }
            }

            /// Returns the information on the transport.
            pub fn info(&self) -> &'static TransportInfo {
                let name = match self { $($(#[$meta])* AnyTransport::$Variant(_) => <$Transport>::NAME,)+ };
                ALL.iter().find(|info| info.name == name).expect("every transport is listed")
            }

            /// Sets one parameter. The name `profile` sets all parameters of a profile, so it must be set before
            /// others.
            pub fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<(), Error> {
                let info = self.info();
                set_param(self.params(), info, name, &value.into())
            }

            /// Returns all parameters with their values in TOML.
            pub fn write(&self) -> Vec<(&'static str, String)> {
                list(self.clone().params())
            }

            /// Returns the transport's needs at ports, as [`Transport::needs`].
            pub fn needs(&self) -> Needs {
                match self { $($(#[$meta])* AnyTransport::$Variant(params) => <$Transport>::needs(params),)+ }
            }

            /// Returns two parameters that contradict each other, as [`Transport::conflict`].
            pub fn conflict(&self) -> Option<Conflict> {
                match self { $($(#[$meta])* AnyTransport::$Variant(params) => <$Transport>::conflict(params),)+ }
            }

            /// Makes the sending end of a flow, for callers to whom a virtual call costs nothing.
            pub fn sender(&self, env: &Env) -> Box<dyn Sender> {
                match self { $($(#[$meta])* AnyTransport::$Variant(params) => Box::new(<$Transport>::sender(params, env)),)+ }
            }

            /// Makes the receiving end of a flow, for callers to whom a virtual call costs nothing.
            pub fn receiver(&self, env: &Env) -> Box<dyn Receiver> {
                match self { $($(#[$meta])* AnyTransport::$Variant(params) => Box::new(<$Transport>::receiver(params, env)),)+ }
            }

            /// Returns the memory of the protocols of a flow, in bytes: of its sending and of its receiving end, without what
            /// these add when packets are lost or come out of order.
            pub fn end_bytes(&self) -> [usize; 2] {
                match self {
                    $($(#[$meta])* AnyTransport::$Variant(_) => [
                        Shelf::<<$Transport as Transport>::Sender>::BYTES,
                        Shelf::<<$Transport as Transport>::Receiver>::BYTES,
                    ],)+
                }
            }

            /// Returns the flows and packets in which agents of hosts take part, as [`Transport::AGENT`].
            pub fn agent_scope(&self) -> AgentScope {
                match self { $($(#[$meta])* AnyTransport::$Variant(_) => <$Transport>::AGENT,)+ }
            }

            /// Makes the agent of a host with flows of the transport, if the transport has agents.
            ///
            /// # Panics
            /// Panics if the host's NIC has no rate.
            pub fn agent(&self, env: &AgentEnv) -> Option<AnyAgent> {
                assert!(env.line_rate > Rate::ZERO, "no host has a link without a rate");
                match self {
                    $($(#[$meta])* AnyTransport::$Variant(params) => {
                        <$Transport>::agent(params, env).map(|agent| AnyAgent::$Variant(Box::new(agent)))
                    })+
                }
            }

            /// Returns the order in which a host's NIC asks flows of the transport for data, as [`Transport::order`].
            pub fn order(&self) -> Order {
                match self { $($(#[$meta])* AnyTransport::$Variant(params) => <$Transport>::order(params),)+ }
            }

            /// Returns the configuration of the transport's mechanism at the ports of switches, if it has one.
            pub fn mechanism(&self) -> Option<AnyMechanismConfig> {
                match self {
                    $($(#[$meta])* AnyTransport::$Variant(params) => {
                        <$Transport>::mechanism(params).map(AnyMechanismConfig::$Variant)
                    })+
                }
            }
        }

        impl AnyMechanismConfig {
            /// Returns the information on the mechanism.
            pub fn info(&self) -> MechanismInfo {
                match self { $($(#[$meta])* AnyMechanismConfig::$Variant(_) => MechanismInfo::of::<MechanismOf<$Transport>>(),)+ }
            }

            /// Sets one constant.
            ///
            /// # Errors
            /// The mechanism has no such constant, or the value is not one for it.
            pub fn set(&mut self, constant: &str, value: &Value) -> Result<(), Error> {
                match self { $($(#[$meta])* AnyMechanismConfig::$Variant(config) => config.set(constant, value),)+ }
            }

            /// Returns all constants with their values in TOML.
            pub fn write(&self) -> Vec<(&'static str, String)> {
                match self { $($(#[$meta])* AnyMechanismConfig::$Variant(config) => config.write(),)+ }
            }

            /// Makes the mechanism of a port whose link has this rate.
            #[allow(unreachable_code, reason = "no value of `NoMechanism` exists")]
            pub fn build(&self, rate: Rate) -> AnyMechanism {
                match self {
                    $($(#[$meta])* AnyMechanismConfig::$Variant(config) => {
                        AnyMechanism::$Variant(PortMechanism::new(config, rate))
                    })+
                }
            }

            fn as_any(&self) -> &dyn Any {
                match self { $($(#[$meta])* AnyMechanismConfig::$Variant(config) => config,)+ }
            }
        }

        /// Two configurations are equal if they are of one kind of mechanism with equal constants, even if different
        /// transports bring them.
        impl PartialEq for AnyMechanismConfig {
            fn eq(&self, other: &AnyMechanismConfig) -> bool {
                match self {
                    $($(#[$meta])* AnyMechanismConfig::$Variant(config) => {
                        other.as_any().downcast_ref::<ConfigOf<$Transport>>() == Some(config)
                    })+
                }
            }
        }

        /// The methods of [`PortMechanism`], on the mechanism inside.
        impl AnyMechanism {
            /// Returns [`PortMechanism::SEES_ARRIVALS`].
            pub fn sees_arrivals(&self) -> Sees {
                match self { $($(#[$meta])* AnyMechanism::$Variant(_) => <MechanismOf<$Transport>>::SEES_ARRIVALS,)+ }
            }

            /// Returns [`PortMechanism::SEES_DEPARTURES`].
            pub fn sees_departures(&self) -> Sees {
                match self { $($(#[$meta])* AnyMechanism::$Variant(_) => <MechanismOf<$Transport>>::SEES_DEPARTURES,)+ }
            }

            /// Calls [`PortMechanism::on_arrival`]. Returns its verdict, and true if the mechanism has another next timeout
            /// since.
            #[inline(always)]
            pub fn on_arrival(&mut self, packet: &Packet, flow: Option<u64>, port: PortState) -> (Verdict, bool) {
                match self { $($(#[$meta])* AnyMechanism::$Variant(mechanism) => {
                    if <MechanismOf<$Transport>>::SEES_ARRIVALS == Sees::Nothing {
                        return (Verdict::Keep, false);
                    }
                    let before = mechanism.next_timeout();
                    let verdict = mechanism.on_arrival(packet, flow, port);
                    (verdict, mechanism.next_timeout() != before)
                })+ }
            }

            /// Calls [`PortMechanism::on_full`].
            pub fn on_full(&mut self, packet: &Packet, port: PortState) -> Verdict {
                match self { $($(#[$meta])* AnyMechanism::$Variant(mechanism) => mechanism.on_full(packet, port),)+ }
            }

            /// Calls [`PortMechanism::on_departure`].
            #[inline(always)]
            pub fn on_departure(&mut self, packet: &mut Packet, extra: Option<&mut Extra>, port: PortState) {
                match self { $($(#[$meta])* AnyMechanism::$Variant(mechanism) => {
                    if <MechanismOf<$Transport>>::SEES_DEPARTURES != Sees::Nothing {
                        mechanism.on_departure(packet, extra, port);
                    }
                })+ }
            }

            /// Calls [`PortMechanism::next_timeout`].
            #[inline]
            pub fn next_timeout(&self) -> Time {
                match self { $($(#[$meta])* AnyMechanism::$Variant(mechanism) => mechanism.next_timeout(),)+ }
            }

            /// Calls [`PortMechanism::on_timeout`].
            pub fn on_timeout(&mut self, port: PortState) {
                match self { $($(#[$meta])* AnyMechanism::$Variant(mechanism) => mechanism.on_timeout(port),)+ }
            }

            /// Calls [`PortMechanism::poll_cnp`].
            pub fn poll_cnp(&mut self, now: Time) -> Option<u64> {
                match self { $($(#[$meta])* AnyMechanism::$Variant(mechanism) => mechanism.poll_cnp(now),)+ }
            }
        }

        impl AnyAgent {
            /// Returns [`AgentScope::data`] of the agent's transport.
            #[inline]
            pub fn sees_data(&self) -> bool {
                match self { $($(#[$meta])* AnyAgent::$Variant(_) => <$Transport as Transport>::AGENT.data,)+ }
            }
        }

        impl Agent for AnyAgent {
            fn begin(&mut self, flow: u32, side: Side, now: Time) {
                match self { $($(#[$meta])* AnyAgent::$Variant(agent) => agent.begin(flow, side, now),)+ }
            }

            fn handle_length(&mut self, flow: u32, bytes: u64, is_final: bool, now: Time) {
                match self { $($(#[$meta])* AnyAgent::$Variant(agent) => agent.handle_length(flow, bytes, is_final, now),)+ }
            }

            fn handle_incoming(&mut self, flow: u32, packet: Packet, extra: &Extra, now: Time) -> Option<Packet> {
                match self { $($(#[$meta])* AnyAgent::$Variant(agent) => agent.handle_incoming(flow, packet, extra, now),)+ }
            }

            fn handle_outgoing(&mut self, flow: u32, packet: Packet, extra: &Extra, now: Time) -> Option<Packet> {
                match self { $($(#[$meta])* AnyAgent::$Variant(agent) => agent.handle_outgoing(flow, packet, extra, now),)+ }
            }

            fn handle_data(&mut self, flow: u32, packet: &mut Packet, waiting: u32, now: Time) {
                match self { $($(#[$meta])* AnyAgent::$Variant(agent) => agent.handle_data(flow, packet, waiting, now),)+ }
            }

            fn poll_transmit(&mut self, now: Time) -> Option<AgentPacket> {
                match self { $($(#[$meta])* AnyAgent::$Variant(agent) => agent.poll_transmit(now),)+ }
            }

            fn handle_timeout(&mut self, now: Time) {
                match self { $($(#[$meta])* AnyAgent::$Variant(agent) => agent.handle_timeout(now),)+ }
            }

            fn next_timeout(&self) -> Time {
                match self { $($(#[$meta])* AnyAgent::$Variant(agent) => agent.next_timeout(),)+ }
            }

            fn forget(&mut self, flow: u32) {
                match self { $($(#[$meta])* AnyAgent::$Variant(agent) => agent.forget(flow),)+ }
            }

            fn stats(&self) -> AgentStats {
                match self { $($(#[$meta])* AnyAgent::$Variant(agent) => agent.stats(),)+ }
            }
        }

        impl Senders {
            /// Makes the sending end of a new flow, and returns its place.
            pub fn open(&mut self, transport: &AnyTransport, env: &Env) -> Place {
                match transport {
                    $($(#[$meta])* AnyTransport::$Variant(params) => {
                        let at = self.$Variant.insert(<$Transport>::sender(params, env));
                        Place { transport: Which::$Variant, at }
                    })+
                }
            }

            /// Takes the end of a place over from other ends, and returns its place here.
            pub fn take_over(&mut self, others: &mut Senders, place: Place) -> Place {
                let at = match place.transport {
                    $($(#[$meta])* Which::$Variant => self.$Variant.take_over(&mut others.$Variant, place.at),)+
                };
                Place { at, ..place }
            }

            /// Removes the end of a place.
            pub fn remove(&mut self, place: Place) {
                match place.transport { $($(#[$meta])* Which::$Variant => self.$Variant.remove(place.at),)+ }
            }

            /// Returns the address of the end of a place, to be fetched ahead.
            #[inline]
            pub fn address(&self, place: Place) -> *const u8 {
                match place.transport { $($(#[$meta])* Which::$Variant => self.$Variant.address(place.at),)+ }
            }

            /// Runs `visitor` on the end of a place. The caller shall not be inlined: it holds the code of all transports.
            #[inline(always)]
            pub fn visit<V: SenderVisitor>(&mut self, place: Place, visitor: V) -> V::Output {
                match place.transport { $($(#[$meta])* Which::$Variant => visitor.visit(self.$Variant.get_mut(place.at)),)+ }
            }
        }

        impl Receivers {
            /// Makes the receiving end of a new flow, and returns its place.
            pub fn open(&mut self, transport: &AnyTransport, env: &Env) -> Place {
                match transport {
                    $($(#[$meta])* AnyTransport::$Variant(params) => {
                        let at = self.$Variant.insert(<$Transport>::receiver(params, env));
                        Place { transport: Which::$Variant, at }
                    })+
                }
            }

            /// Takes the end of a place over from other ends, and returns its place here.
            pub fn take_over(&mut self, others: &mut Receivers, place: Place) -> Place {
                let at = match place.transport {
                    $($(#[$meta])* Which::$Variant => self.$Variant.take_over(&mut others.$Variant, place.at),)+
                };
                Place { at, ..place }
            }

            /// Removes the end of a place.
            pub fn remove(&mut self, place: Place) {
                match place.transport { $($(#[$meta])* Which::$Variant => self.$Variant.remove(place.at),)+ }
            }

            /// Returns the address of the end of a place, to be fetched ahead.
            #[inline]
            pub fn address(&self, place: Place) -> *const u8 {
                match place.transport { $($(#[$meta])* Which::$Variant => self.$Variant.address(place.at),)+ }
            }

            /// Runs `visitor` on the end of a place. The caller shall not be inlined: it holds the code of all transports.
            #[inline(always)]
            pub fn visit<V: ReceiverVisitor>(&mut self, place: Place, visitor: V) -> V::Output {
                match place.transport { $($(#[$meta])* Which::$Variant => visitor.visit(self.$Variant.get_mut(place.at)),)+ }
            }
        }
    };
}

transports! {
    Blast = crate::blast::Blast;
    Rocev2 = crate::rdma::rocev2::Rocev2;
    Dcqcn = crate::rdma::dcqcn::Dcqcn;
    Timely = crate::rdma::timely::Timely;
    Hpcc = crate::rdma::hpcc::Hpcc;
    RdmaDctcp = crate::rdma::dctcp::RdmaDctcp;
    Pacc = crate::rdma::pacc::Pacc;
    NewReno = crate::tcp::newreno::NewReno;
    Cubic = crate::tcp::cubic::Cubic;
    Dctcp = crate::tcp::dctcp::Dctcp;
    Hull = crate::tcp::hull::Hull;
    Dx = crate::tcp::dx::Dx;
    Rcp = crate::tcp::rcp::Rcp;
    Ideal = crate::tcp::ideal::Ideal;
    FixedWindow = crate::tcp::fixed::FixedWindow;
    Pac = crate::pac::Pac;
    Ictcp = crate::ictcp::Ictcp;
    AckShaper = crate::ack_shaper::AckShaper;
    ExpressPass = crate::expresspass::ExpressPass;
    ExpressPassHotnets16 = crate::expresspass::hotnets::Hotnets16;
    NaiveCredit = crate::expresspass::naive::NaiveCredit;
    Ec4 = crate::ec4::Ec4;
    Ndp = crate::ndp::Ndp;
    Eqds = crate::eqds::Eqds;
    UecNscc = crate::uec::UecNscc;
    UecRccc = crate::uec::UecRccc;
    Uec = crate::uec::Uec;
    #[cfg(feature = "trials")]
    HomaTrial = crate::trials::homa::Homa;
    #[cfg(feature = "trials")]
    NdpTrial = crate::trials::ndp::Ndp;
}

/// The transports for users, in the order of their registration.
pub static TRANSPORTS: &[TransportInfo] = ALL.split_at(for_users()).0;

/// The trial transports, which are registered behind the others and exist with the cargo feature `trials` alone.
pub static TRIALS: &[TransportInfo] = ALL.split_at(for_users()).1;

/// Returns the number of transports for users.
const fn for_users() -> usize {
    let mut count = ALL.len();
    while count > 0 && ALL[count - 1].is_trial {
        count -= 1;
    }
    count
}

#[cfg(test)]
mod tests;
