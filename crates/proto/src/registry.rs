//! Every transport that Clearway knows. Adding one: a folder beside this file and a line at its end.

use crate::endpoint::{Env, Receiver, Sender};
use crate::port::{CreditShaping, PortMechanism, RedConfig};
use crate::rdma::Acks;
use crate::shim::{AnyShim, ShimEnv};
use clearway_schema::{Declared, Error, Profile, Spec, Value};

/// A transport: a kind of sender and a kind of receiver that belong together, with their parameters.
pub trait Transport {
    /// Its parameters.
    type Params: Declared + Default;
    /// Its sending end.
    type Sender: Sender;
    /// Its receiving end.
    type Receiver: Receiver;
    /// Its name, as in scenario files.
    const NAME: &'static str;
    /// What it is, in a sentence.
    const SUMMARY: &'static str;
    /// Paper or RFC that defines it.
    const SOURCE: &'static str;
    /// What it was checked against, with a sentence on what that covers.
    const CHECKED: Checked;
    /// Named sets of parameters.
    const PROFILES: &'static [Profile] = &[];
    /// Whether its senders count the notifications of congestion that they hear of ([`Stats::notices`]).
    ///
    /// [`Stats::notices`]: crate::Stats::notices
    const COUNTS_NOTICES: bool = false;
    /// What its packets need from the ports on their way.
    fn needs(params: &Self::Params) -> Needs;
    /// A sending end for a new flow.
    fn sender(params: &Self::Params, env: &Env) -> Self::Sender;
    /// A receiving end for a new flow.
    fn receiver(params: &Self::Params, env: &Env) -> Self::Receiver;
    /// The shim of a host that receives its flows, if it has one.
    fn shim(_: &Self::Params, _: &ShimEnv) -> Option<AnyShim> {
        None
    }
}

/// What a transport needs from the ports, unless the scenario says otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Needs {
    /// A rate-limited class for credits.
    pub credits: Option<CreditNeeds>,
    /// ECN marks on the data queue.
    pub marking: Option<MarkingNeeds>,
    /// A network that loses nothing for want of buffer: priority flow control.
    pub lossless: bool,
    /// Notifications of congestion that overtake data: a class of their own for [`Kind::Cnp`](crate::Kind::Cnp).
    pub notices: bool,
    /// How acknowledgements travel, besides data or ahead of it.
    pub acks: Acks,
    /// A class that yields to all others, for data that nothing allowed: the most frames that wait in it.
    pub low_priority: Option<u32>,
    /// Bytes that its data packets carry besides payload and the network's headers.
    pub stamp: u32,
    /// What else the ports of switches do.
    pub mechanism: Option<PortMechanism>,
    /// Whether senders are told their max-min fair share, as no network could ([`Sender::set_rate`]).
    pub oracle: bool,
}

impl Needs {
    /// Plain drop-tail queues.
    pub const NOTHING: Needs = Needs {
        credits: None,
        marking: None,
        lossless: false,
        notices: false,
        acks: Acks::WithData,
        stamp: 0,
        low_priority: None,
        mechanism: None,
        oracle: false,
    };
    /// Marks by a step at `K`.
    pub const ECN: Needs = Needs { marking: Some(MarkingNeeds::Step), ..Needs::NOTHING };
}

/// How a port marks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MarkingNeeds {
    /// By a step at `K`, which the scenario knows.
    Step,
    /// At random between two thresholds.
    Red(RedConfig),
}

/// The credit class of a port.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CreditNeeds {
    /// Most credits that wait.
    pub queue: u32,
    /// The token bucket in front of the link.
    pub shaping: CreditShaping,
}

/// What a transport was checked against, each with a sentence that says what was read and what was not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checked {
    /// The text of the paper or RFC that defines it.
    Paper(&'static str),
    /// Code of its authors, or of the authors of the paper that it is reproduced from.
    Code(&'static str),
    /// Both.
    PaperAndCode(&'static str),
    /// Neither was at hand.
    Neither(&'static str),
}

impl Checked {
    /// What it was checked against: "paper", "code", "paper and code" or "neither".
    pub const fn against(&self) -> &'static str {
        match self {
            Checked::Paper(_) => "paper",
            Checked::Code(_) => "code",
            Checked::PaperAndCode(_) => "paper and code",
            Checked::Neither(_) => "neither",
        }
    }

    /// The sentence that says what was read and what was not.
    pub const fn how(&self) -> &'static str {
        match self {
            Checked::Paper(how) | Checked::Code(how) | Checked::PaperAndCode(how) | Checked::Neither(how) => {
                how
            }
        }
    }
}

/// What `clearway list transports` shows of a transport.
#[derive(Clone, Copy, Debug)]
pub struct TransportInfo {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub summary: &'static str,
    /// Paper or RFC that defines it.
    pub source: &'static str,
    /// What it was checked against.
    pub checked: Checked,
    /// Its parameters.
    pub params: &'static [Spec],
    /// Its named sets of parameters.
    pub profiles: &'static [Profile],
    /// Whether its flows count the notifications of congestion that they hear of.
    pub counts_notices: bool,
}

/// Code to be run on a sender whose type is not known: one instance per transport, chosen by one jump.
pub trait SenderVisitor {
    /// What it returns.
    type Output;
    /// The code.
    fn visit<S: Sender>(self, sender: &mut S) -> Self::Output;
}

/// The same for a receiver.
pub trait ReceiverVisitor {
    /// What it returns.
    type Output;
    /// The code.
    fn visit<R: Receiver>(self, receiver: &mut R) -> Self::Output;
}

macro_rules! transports {
    ($($Variant:ident = $Transport:ty;)+) => {
        /// A transport with its parameters set: what a part of the traffic names.
        #[derive(Clone, Debug)]
        pub enum AnyTransport {$(
            #[doc = concat!("`", stringify!($Variant), "`")]
            $Variant(<$Transport as Transport>::Params),
        )+}

        /// The sending end of a flow of any transport.
        pub enum AnySender {$(
            #[doc = concat!("`", stringify!($Variant), "`")]
            $Variant(<$Transport as Transport>::Sender),
        )+}

        /// The receiving end of a flow of any transport.
        pub enum AnyReceiver {$(
            #[doc = concat!("`", stringify!($Variant), "`")]
            $Variant(<$Transport as Transport>::Receiver),
        )+}

        /// All transports, in the order of their registration.
        pub const TRANSPORTS: &[TransportInfo] = &[$(TransportInfo {
            name: <$Transport>::NAME,
            summary: <$Transport>::SUMMARY,
            source: <$Transport>::SOURCE,
            checked: <$Transport>::CHECKED,
            params: <<$Transport as Transport>::Params as Declared>::SPECS,
            profiles: <$Transport>::PROFILES,
            counts_notices: <$Transport>::COUNTS_NOTICES,
        },)+];

        impl AnyTransport {
            /// The transport of that name with its defaults, or `None`.
            pub fn by_name(name: &str) -> Option<AnyTransport> {
                match name {
                    $(<$Transport>::NAME => Some(AnyTransport::$Variant(Default::default())),)+
                    _ => None,
                }
            }

            /// What is known of it.
            pub fn info(&self) -> &'static TransportInfo {
                let name = match self { $(AnyTransport::$Variant(_) => <$Transport>::NAME,)+ };
                TRANSPORTS.iter().find(|info| info.name == name).expect("every transport is listed")
            }

            /// Sets one parameter. `profile` sets several, so it comes first.
            pub fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<(), Error> {
                let value = value.into();
                if name == "profile" {
                    let profiles = self.info().profiles;
                    let named = profiles.iter().find(|profile| Some(profile.name) == value.text());
                    let profile = named.ok_or_else(|| Error::Value {
                        name: "profile",
                        value: value.show(),
                        problem: match profiles {
                            [] => "this transport has no profiles".into(),
                            _ => format!(
                                "write one of {}",
                                profiles.iter().map(|p| p.name).collect::<Vec<_>>().join(", ")
                            ),
                        },
                    })?;
                    return profile.values.iter().try_for_each(|(name, value)| self.set(name, *value));
                }
                match self { $(AnyTransport::$Variant(params) => params.set(name, value),)+ }
            }

            /// All parameters with their values in TOML.
            pub fn write(&self) -> Vec<(&'static str, String)> {
                match self { $(AnyTransport::$Variant(params) => params.write(),)+ }
            }

            /// What its packets need from the ports on their way.
            pub fn needs(&self) -> Needs {
                match self { $(AnyTransport::$Variant(params) => <$Transport>::needs(params),)+ }
            }

            /// A sending end for a new flow.
            pub fn sender(&self, env: &Env) -> AnySender {
                match self {
                    $(AnyTransport::$Variant(params) => AnySender::$Variant(<$Transport>::sender(params, env)),)+
                }
            }

            /// A receiving end for a new flow.
            pub fn receiver(&self, env: &Env) -> AnyReceiver {
                match self {
                    $(AnyTransport::$Variant(params) => AnyReceiver::$Variant(<$Transport>::receiver(params, env)),)+
                }
            }

            /// The shim of a host that receives its flows, if it has one.
            pub fn shim(&self, env: &ShimEnv) -> Option<AnyShim> {
                match self { $(AnyTransport::$Variant(params) => <$Transport>::shim(params, env),)+ }
            }
        }

        impl AnySender {
            /// Runs `visitor` on the sender inside.
            #[inline]
            pub fn visit<V: SenderVisitor>(&mut self, visitor: V) -> V::Output {
                match self { $(AnySender::$Variant(sender) => visitor.visit(sender),)+ }
            }
        }

        impl AnyReceiver {
            /// Runs `visitor` on the receiver inside.
            #[inline]
            pub fn visit<V: ReceiverVisitor>(&mut self, visitor: V) -> V::Output {
                match self { $(AnyReceiver::$Variant(receiver) => visitor.visit(receiver),)+ }
            }
        }
    };
}

transports! {
    Blast = crate::blast::Blast;
    Rocev2 = crate::rdma::fixed::Rocev2;
    Dcqcn = crate::rdma::dcqcn::DcqcnTransport;
    Timely = crate::rdma::timely::TimelyTransport;
    Hpcc = crate::rdma::hpcc::HpccTransport;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_limit_and_profile_can_be_read() {
        for info in TRANSPORTS {
            let mut transport = AnyTransport::by_name(info.name).expect(info.name);
            assert_eq!(transport.info().name, info.name);
            for (name, value) in transport.write() {
                transport
                    .set(name, value.trim_matches('"'))
                    .unwrap_or_else(|error| panic!("{}: {error}", info.name));
            }
            for profile in info.profiles {
                transport
                    .set("profile", profile.name)
                    .unwrap_or_else(|error| panic!("{}: {error}", info.name));
            }
        }
    }

    #[test]
    fn every_transport_says_in_a_sentence_what_it_was_checked_against() {
        for info in TRANSPORTS {
            let how = info.checked.how();
            assert!(how.ends_with('.') && how.len() > 40, "{}: {how:?}", info.name);
        }
    }

    #[test]
    fn every_parameter_is_documented_with_its_source() {
        for info in TRANSPORTS {
            for spec in info.params {
                assert!(
                    !spec.doc.trim().is_empty() && !spec.source.is_empty(),
                    "{}.{}",
                    info.name,
                    spec.name
                );
            }
        }
    }
}
