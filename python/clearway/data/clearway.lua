-- Wireshark dissector of Clearway's own headers: credits and the data that they schedule (ExpressPass and its relatives),
-- HPCC's telemetry in RoCEv2, RCP's option in TCP. Version 1 of the format is that of the simulator's traces
-- (docs/how-to/traces.md), versions 2 and 3 those of the Linux datapath for flows over IPv4 and IPv6
-- (docs/reference/wire-format.md).
--
--   wireshark -X lua_script:clearway.lua trace-incast.pcapng
--   tshark -X lua_script:clearway.lua -r trace-incast.pcapng -Y 'clearway.kind == "credit"'
--   tshark -X lua_script:clearway.lua -i eth0 -Y 'clearway.credit == 4711'

local VERSION = 1
local VERSION_LINUX = 2
local VERSION_IPV6 = 3
local ETHERTYPE = 0x88b5 -- IEEE 802's first EtherType for local experiments
local UDP_PORT = 61021 -- of control frames over UDP, in the range for private use
local ROCE_PORT = 4791
local MAGIC = 0x4357 -- "CW"
local SCHEDULED = 3 -- the differentiated services codepoint of data that spends a credit on Linux
local DONT_FRAGMENT = 0x4000
local URG = 0x20

local clearway = Proto("clearway", "Clearway")
local fields = clearway.fields

-- A packet's kind, in the words of Clearway's tables, for packets of all families.
fields.kind = ProtoField.string("clearway.kind", "Kind")

-- The header of credits and of the data that they schedule.
fields.version = ProtoField.uint8("clearway.version", "Version")
fields.code = ProtoField.uint8("clearway.code", "Code of the kind")
fields.flags = ProtoField.uint16("clearway.flags", "Flags", base.HEX)
fields.traffic = ProtoField.uint16("clearway.traffic", "Traffic entry")
fields.length = ProtoField.uint16("clearway.length", "Payload length")
fields.flow = ProtoField.uint32("clearway.flow", "Flow")
fields.session = ProtoField.uint32("clearway.session", "Session")
fields.offset = ProtoField.uint64("clearway.offset", "Offset of the payload in the flow")
fields.credit = ProtoField.uint64("clearway.credit", "Credit spent")
fields.number = ProtoField.uint64("clearway.number", "Credit number")
fields.wanted = ProtoField.uint64("clearway.wanted", "Credits wanted")
fields.written = ProtoField.uint64("clearway.written", "Bytes written so far")
fields.stop = ProtoField.uint64("clearway.end", "Bytes sent so far")
fields.ack = ProtoField.uint64("clearway.ack", "Next byte expected")
fields.echo = ProtoField.uint64("clearway.echo", "Time returned (ps)")
fields.psn = ProtoField.uint32("clearway.psn", "Number of the packet")
fields.pull = ProtoField.uint32("clearway.pull", "Last pull")
fields.target = ProtoField.uint32("clearway.target", "Pull wanted")
fields.next = ProtoField.uint32("clearway.next", "Next packet expected")
fields.received = ProtoField.uint32("clearway.received", "Bytes received")
fields.from = ProtoField.uint32("clearway.from", "First packet of the map")
fields.map = ProtoField.uint64("clearway.map", "Map of packets that arrived", base.HEX)
fields.leads = ProtoField.bool("clearway.leads", "The pull leads what was asked for")

-- The flags, by their bits.
local FLAGS = {
  { "ecn_capable", "ECN capable", 0x0001 },
  { "ecn_ce", "Congestion experienced", 0x0002 },
  { "ecn_echo", "Echo of a mark", 0x0004 },
  { "cwr", "Window reduced", 0x0008 },
  { "retransmit", "Sent before", 0x0010 },
  { "last", "Last of the flow", 0x0020 },
  { "extra", "Has selective acknowledgements or telemetry", 0x0040 },
  { "empty", "Nothing more to send for now", 0x0080 },
  { "telemetry", "Collects telemetry", 0x0100 },
  { "trimmed", "Cut to its header", 0x0200 },
  { "returned", "Sent back to its sender", 0x0400 },
  { "last_hop", "Cut in front of its receiver", 0x0800 },
}
for _, flag in ipairs(FLAGS) do
  local name, text, bit = flag[1], flag[2], flag[3]
  fields["flag_" .. name] = ProtoField.bool("clearway.flags." .. name, text, 16, nil, bit)
end

-- The control frames of the Linux datapath, beside the fields that both versions have.
fields.source = ProtoField.ipv4("clearway.flow.source", "Sender of the flow")
fields.destination = ProtoField.ipv4("clearway.flow.destination", "Receiver of the flow")
fields.source6 = ProtoField.ipv6("clearway.flow.source6", "Sender of the flow")
fields.destination6 = ProtoField.ipv6("clearway.flow.destination6", "Receiver of the flow")
fields.source_low = ProtoField.bytes("clearway.flow.source_low", "Lower 32 bits of the sender's address", base.COLON)
fields.destination_low =
  ProtoField.bytes("clearway.flow.destination_low", "Lower 32 bits of the receiver's address", base.COLON)
fields.source_port = ProtoField.uint16("clearway.flow.source_port", "TCP port at the sender")
fields.destination_port = ProtoField.uint16("clearway.flow.destination_port", "TCP port at the receiver")
fields.wants_ecn = ProtoField.bool("clearway.flags.wants_ecn", "The receiver wants ECN-capable data", 8, nil, 0x01)
fields.cookie = ProtoField.uint64("clearway.cookie", "Cookie", base.HEX)
fields.rate = ProtoField.uint64("clearway.rate", "Rate of the NIC (bit/s)")
fields.left = ProtoField.uint64("clearway.left", "Time at which the credit left (ns of the receiver's clock)")
fields.mtu = ProtoField.uint16("clearway.mtu", "MTU of the NIC")
fields.credit_low = ProtoField.uint16("clearway.credit.low", "Lower 16 bits of the credit spent")

-- HPCC's telemetry.
fields.int = ProtoField.none("clearway.int", "Telemetry (HPCC INT)")
fields.int_version = ProtoField.uint8("clearway.int.version", "Version")
fields.int_hops = ProtoField.uint8("clearway.int.hops", "Hops")
fields.hop = ProtoField.none("clearway.int.hop", "Hop")
fields.hop_left = ProtoField.uint64("clearway.int.hop.left", "Time of departure (ps)")
fields.hop_sent = ProtoField.uint64("clearway.int.hop.sent", "Bytes sent by the port")
fields.hop_queued = ProtoField.uint32("clearway.int.hop.queued", "Bytes queued")
fields.hop_rate = ProtoField.uint32("clearway.int.hop.rate", "Rate (Mbit/s)")

-- RCP's fields.
fields.rcp_rate = ProtoField.uint64("clearway.rcp.rate", "RCP rate (bit/s)")
fields.rcp_srtt = ProtoField.uint64("clearway.rcp.srtt", "RCP round-trip time (ps)")

local unknown = ProtoExpert.new("clearway.unknown", "Unknown version or kind", expert.group.PROTOCOL, expert.severity.WARN)
clearway.experts = { unknown }

-- The kinds of our header by their codes: word, and the names of the three fields (nil for one that is always zero).
local KINDS = {
  [0] = { "data", "offset", nil, "echo" },
  { "data", "offset", nil, nil }, -- 1, unscheduled
  { "data", "offset", "credit", "echo" }, -- 2, spends a credit
  { "syn", "wanted", "written", nil },
  { "credit-request", "wanted", "written", nil },
  { "credit-stop", "stop", nil, nil },
  { "syn-ack", "ack", nil, "echo" },
  { "ack", "ack", nil, "echo" },
  { "nack", "ack", nil, "echo" },
  { "credit", "number", "ack", "echo" },
  { "data", "offset", numbered = { pull = 28, target = 36 } }, -- 10, of numbered packets, as all that follow
  { "pull-request", numbered = { pull = 28, target = 36 } },
  { "pull-request", numbered = {} }, -- 12, a probe
  { "ack", numbered = { next = 16, pull = 20, received = 24, from = 28 } },
  { "nack", numbered = { next = 20, pull = 28, received = 36 } },
  { "pull", numbered = { pull = 20 } },
}
-- The order in which fields of numbered packets are shown, and the codes of an acknowledgement's map and of a pull.
local NUMBERED, MAPPED, PULLED = { "next", "pull", "target", "received", "from" }, 13, 15
local UNSCHEDULED = 1
local HEADER_LEN = 40

-- A column's words for the fields that say most.
local SHOWN = { offset = "at", credit = "spends credit", number = "number", wanted = "wants", written = "of", stop = "at",
  ack = "ack" }

-- The header of the simulator's traces.
local function dissect_simulated(buffer, pinfo, subtree, kind)
  subtree:add(fields.kind, buffer(1, 1), kind[1])
  local flags = subtree:add(fields.flags, buffer(2, 2))
  for _, flag in ipairs(FLAGS) do
    flags:add(fields["flag_" .. flag[1]], buffer(2, 2))
  end
  subtree:add(fields.traffic, buffer(4, 2))
  subtree:add(fields.length, buffer(6, 2))
  subtree:add(fields.flow, buffer(8, 4))
  subtree:add(kind.numbered and fields.psn or fields.session, buffer(12, 4))
  local words = {}
  for _, name in ipairs(kind.numbered and NUMBERED or {}) do
    local at = kind.numbered[name]
    if at then
      subtree:add(fields[name], buffer(at, 4))
      words[#words + 1] = name .. " " .. tostring(buffer(at, 4):uint())
    end
  end
  local code = buffer(1, 1):uint()
  if code == MAPPED then subtree:add(fields.map, buffer(32, 8)) end
  if code == PULLED then subtree:add(fields.leads, buffer(31, 1)) end
  for place = 1, 3 do
    local name = kind[place + 1]
    if name then
      local value = buffer(8 + 8 * place, 8)
      subtree:add(fields[name], value)
      if SHOWN[name] then
        words[#words + 1] = SHOWN[name] .. " " .. tostring(value:uint64())
      end
    end
  end
  local what = code == UNSCHEDULED and "unscheduled data" or kind[1]
  local flow = string.format("%d/%d", buffer(4, 2):uint(), buffer(8, 4):uint())
  local length = buffer(6, 2):uint()
  local size = length > 0 and string.format(", %d B", length) or ""
  local more = #words > 0 and ", " .. table.concat(words, ", ") or ""
  subtree:append_text(string.format(", %s of flow %s", what, flow))
  local number = kind.numbered and "packet" or "session"
  pinfo.cols.info = string.format("%s, flow %s, %s %d%s%s", what, flow, number, buffer(12, 4):uint(), more, size)
end

-- The kinds of control frames by their codes: word, the names of number, value and MTU (nil for one that is always zero).
local CONTROLS = {
  [4] = { "credit-request", "wanted", "rate", "mtu" },
  [5] = { "credit-stop" },
  [6] = { "accept", nil, "rate", "mtu" },
  [7] = { "stopped" },
  [9] = { "credit", "number", "left" },
  [10] = { "cnp" },
}
local CONTROL_LEN = 46
-- Bytes behind those, in frames of IPv6 flows that are no credits: the upper 96 bits of both addresses.
local CREDIT, UPPER_LEN = 9, 12

-- The number of the newest credit that the capture has of each flow, and the credits that packets spent, by the number of
-- the frame: a packet has only the lower 16 bits of the number. Flows go by the lower 32 bits of their addresses and by
-- their ports, since a credit over IPv6 has no more.
local newest, spent = {}, {}

-- The key of a flow: the lower 32 bits of two addresses and two ports, each a range of the buffer.
local function flow_key(source, source_port, destination, destination_port)
  return string.format("%d:%d>%d:%d", source:uint(), source_port:uint(), destination:uint(), destination_port:uint())
end

-- The name of a flow as people write it.
local function flow_name(source, source_port, destination, destination_port)
  return string.format("%s:%d > %s:%d", source, source_port:uint(), destination, destination_port:uint())
end

-- An address of IPv6 in brackets, of a text or of the lower 32 bits in a buffer.
local function bracketed(text) return "[" .. text .. "]" end
local function lower(range) return string.format("[..:%x:%x]", range(0, 2):uint(), range(2, 2):uint()) end

-- True if a control frame of IPv6 has both addresses whole: all but credits have, unless they travel over UDP.
local function is_whole(buffer, pinfo)
  return buffer(0, 1):uint() == VERSION_IPV6 and buffer(1, 1):uint() ~= CREDIT and pinfo.dst_port ~= UDP_PORT
end

-- Shows the addresses of the flow in a control frame, and returns them as texts.
local function add_addresses(buffer, pinfo, subtree, is_ipv6)
  local source, destination = buffer(8, 4), buffer(12, 4)
  if not is_ipv6 then
    subtree:add(fields.source, source)
    subtree:add(fields.destination, destination)
    return tostring(source:ipv4()), tostring(destination:ipv4())
  end
  if not is_whole(buffer, pinfo) then
    subtree:add(fields.source_low, source)
    subtree:add(fields.destination_low, destination)
    return lower(source), lower(destination)
  end
  -- The parts of an address lie apart, so they are joined in a buffer of their own.
  local function whole(field, name, low, upper_at)
    local bytes = buffer(upper_at, UPPER_LEN):bytes()
    bytes:append(low:bytes())
    local address = bytes:tvb(name)(0, 16)
    subtree:add(field, address)
    return bracketed(tostring(address:ipv6()))
  end
  return whole(fields.source6, "Sender of the flow", source, CONTROL_LEN),
    whole(fields.destination6, "Receiver of the flow", destination, CONTROL_LEN + UPPER_LEN)
end

-- A control frame of the Linux datapath.
local function dissect_control(buffer, pinfo, subtree, kind)
  local is_ipv6 = buffer(0, 1):uint() == VERSION_IPV6
  subtree:add(fields.kind, buffer(1, 1), kind[1])
  if kind[1] == "accept" then subtree:add(fields.wants_ecn, buffer(2, 1)) end
  subtree:add(fields.session, buffer(4, 4))
  local source, destination = add_addresses(buffer, pinfo, subtree, is_ipv6)
  subtree:add(fields.source_port, buffer(16, 2))
  subtree:add(fields.destination_port, buffer(18, 2))
  subtree:add(fields.cookie, buffer(20, 8))
  local places = { { 28, 8 }, { 36, 8 }, { 44, 2 } }
  for place, where in ipairs(places) do
    local name = kind[place + 1]
    if name then subtree:add(fields[name], buffer(where[1], where[2])) end
  end
  local flow = flow_name(source, buffer(16, 2), destination, buffer(18, 2))
  local more = ""
  if kind[2] then more = string.format(", %s %s", SHOWN[kind[2]], tostring(buffer(28, 8):uint64())) end
  if kind[1] == "credit" and not pinfo.visited then
    local key = flow_key(buffer(8, 4), buffer(16, 2), buffer(12, 4), buffer(18, 2))
    newest[key] = math.max(newest[key] or 0, buffer(28, 8):uint64():tonumber())
  end
  subtree:append_text(string.format(", %s of flow %s", kind[1], flow))
  pinfo.cols.info = string.format("%s, flow %s, session %d%s", kind[1], flow, buffer(4, 4):uint(), more)
end

-- What reads the header of each version: length, kinds, function.
local VERSIONS = {
  [VERSION] = { HEADER_LEN, KINDS, dissect_simulated },
  [VERSION_LINUX] = { CONTROL_LEN, CONTROLS, dissect_control },
  [VERSION_IPV6] = { CONTROL_LEN, CONTROLS, dissect_control },
}

function clearway.dissector(buffer, pinfo, tree)
  if buffer:len() < 2 then return 0 end
  local version = VERSIONS[buffer(0, 1):uint()]
  local length = version and version[1] or 2
  if buffer:len() < length then return 0 end
  if CONTROLS[buffer(1, 1):uint()] and is_whole(buffer, pinfo) then
    length = CONTROL_LEN + 2 * UPPER_LEN
    if buffer:len() < length then return 0 end
  end
  local subtree = tree:add(clearway, buffer(0, length))
  pinfo.cols.protocol = "Clearway"
  subtree:add(fields.version, buffer(0, 1))
  subtree:add(fields.code, buffer(1, 1))
  local kind = version and version[2][buffer(1, 1):uint()]
  if kind then
    version[3](buffer, pinfo, subtree, kind)
  else
    subtree:add_proto_expert_info(unknown)
  end
  return buffer:len()
end

function clearway.init()
  newest, spent = {}, {}
end

DissectorTable.get("ethertype"):add(ETHERTYPE, clearway)
DissectorTable.get("udp.port"):add(UDP_PORT, clearway)

-- The parts of ours in packets of TCP and RoCEv2 are read after Wireshark's own dissectors have named the rest. The bytes
-- are found from the start of the frame: Ethernet, IPv4 without options or IPv6 without extension headers, and the header
-- above.
local parts = Proto("clearway_parts", "Clearway in other protocols")

-- The kinds of RoCEv2's packets by their opcodes.
local OPCODES = { [0x06] = "data", [0x07] = "data", [0x08] = "data", [0x0a] = "data", [0x11] = "ack", [0x81] = "cnp" }
local NAK = 0x60
-- The lengths of the headers behind the first: a write's first packet has an address, an acknowledgement a syndrome.
local EXTENDED = { [0x06] = 16, [0x0a] = 16, [0x11] = 4 }

local function add_telemetry(buffer, at, tree)
  if buffer:len() < at + 4 or buffer(at, 2):uint() ~= MAGIC then return end
  local count = buffer(at + 3, 1):uint()
  local length = 4 + 24 * count
  if buffer:len() < at + length then return end
  local int = tree:add(fields.int, buffer(at, length))
  int:add(fields.int_version, buffer(at + 2, 1))
  int:add(fields.int_hops, buffer(at + 3, 1))
  for number = 0, count - 1 do
    local start = at + 4 + 24 * number
    local hop = int:add(fields.hop, buffer(start, 24))
    hop:append_text(" " .. (number + 1))
    hop:add(fields.hop_left, buffer(start, 8))
    hop:add(fields.hop_sent, buffer(start + 8, 8))
    hop:add(fields.hop_queued, buffer(start + 16, 4))
    hop:add(fields.hop_rate, buffer(start + 20, 4))
  end
end

local function dissect_roce(buffer, pinfo, tree)
  local opcode = buffer(42, 1):uint()
  local kind = OPCODES[opcode]
  if not kind then return end
  if kind == "ack" and buffer(54, 1):uint() == NAK then kind = "nack" end
  local subtree = tree:add(clearway)
  subtree:append_text(", " .. kind)
  subtree:add(fields.kind, buffer(42, 1), kind)
  -- Wireshark says of data that it is malformed where only its headers were captured, and knows no CNP.
  local words = { data = "data", ack = "ack", nack = "nack", cnp = "congestion notification" }
  local info = string.format("%s, QP 0x%06x", words[kind], buffer(47, 3):uint())
  if kind ~= "cnp" then
    info = string.format("%s, PSN %d", info, buffer(51, 3):uint())
    add_telemetry(buffer, 54 + (EXTENDED[opcode] or 0), subtree)
  end
  pinfo.cols.info:clear_fence()
  pinfo.cols.info:set(info)
end

-- The number of the credit that scheduled data of the Linux datapath spends: over IPv4 the codepoint 000011, DF, and no
-- fragment; over IPv6 the codepoint, and no flag URG. `tcp` is the place of the TCP header.
local function add_credit(buffer, pinfo, subtree, tcp)
  local class, field, source, destination
  if buffer(12, 2):uint() == 0x0800 then
    class, field, source, destination = buffer(15, 1):uint(), buffer(18, 2), buffer(26, 4), buffer(30, 4)
    if bit.band(buffer(20, 2):uint(), 0x7fff) ~= DONT_FRAGMENT then return end
  else
    class = bit.band(bit.rshift(buffer(14, 2):uint(), 4), 0xff)
    field, source, destination = buffer(tcp + 18, 2), buffer(34, 4), buffer(50, 4)
    if bit.band(buffer(tcp + 13, 1):uint(), URG) ~= 0 then return end
  end
  if bit.rshift(class, 2) ~= SCHEDULED then return end
  local low = field:uint()
  subtree:add(fields.credit_low, field)
  if not pinfo.visited then
    local last = newest[flow_key(source, buffer(tcp, 2), destination, buffer(tcp + 2, 2))]
    if last then spent[pinfo.number] = last - (last - low) % 0x10000 end
  end
  local number = spent[pinfo.number]
  if number and number >= 0 then
    subtree:add(fields.credit, field, UInt64(number % 2^32, math.floor(number / 2^32))):set_generated()
    subtree:append_text(string.format(", spends credit %d", number))
  end
end

-- A segment whose TCP header stands at `tcp`, with `size` bytes from there on.
local function dissect_tcp(buffer, pinfo, tree, tcp, size)
  local length = bit.rshift(buffer(tcp + 12, 1):uint(), 4) * 4
  local flags = buffer(tcp + 13, 1):uint()
  local is_syn, is_ack = bit.band(flags, 0x02) ~= 0, bit.band(flags, 0x10) ~= 0
  local payload = size - length
  local is_fin = bit.band(flags, 0x01) ~= 0
  local kind = is_syn and (is_ack and "syn-ack" or "syn") or ((payload > 0 or is_fin) and "data" or "ack")
  local subtree = tree:add(clearway)
  subtree:append_text(", " .. kind)
  subtree:add(fields.kind, buffer(tcp + 13, 1), kind)
  add_credit(buffer, pinfo, subtree, tcp)
  local at, stop = tcp + 20, tcp + length
  while at + 1 < stop do
    local option = buffer(at, 1):uint()
    if option == 0 then return end
    local size = option == 1 and 1 or buffer(at + 1, 1):uint()
    if size < 1 or at + size > stop then return end
    if option == 253 and size == 20 and buffer(at + 2, 2):uint() == MAGIC then
      subtree:add(fields.rcp_rate, buffer(at + 4, 8))
      subtree:add(fields.rcp_srtt, buffer(at + 12, 8))
    end
    at = at + size
  end
end

function parts.dissector(buffer, pinfo, tree)
  if buffer:len() < 54 then return end
  if buffer:len() >= 74 and buffer(12, 2):uint() == 0x86dd and buffer(20, 1):uint() == 6 then
    return dissect_tcp(buffer, pinfo, tree, 54, buffer(18, 2):uint())
  end
  if buffer(12, 2):uint() ~= 0x0800 or buffer(14, 1):uint() ~= 0x45 then return end
  local protocol = buffer(23, 1):uint()
  if protocol == 17 and buffer(36, 2):uint() == ROCE_PORT then
    dissect_roce(buffer, pinfo, tree)
  elseif protocol == 6 then
    dissect_tcp(buffer, pinfo, tree, 34, buffer(16, 2):uint() - 20)
  end
end

register_postdissector(parts)
