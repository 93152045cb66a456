import { createHash } from 'node:crypto';

/**
 * The arithmetic of `gcra.ts` in Lua, for all charges of a tick in their order, then for the requested leases. Lua
 * numbers are doubles like ours, so the bounds that keep every number whole here do so there.
 *
 * KEYS: the buckets, each once, and the lease lists of those that may be leased. ARGV[1]: a JSON array with, per
 * charge, five numbers for each of its buckets: its key, the key of its leases (0: none), cost, rate and burst; keys
 * count from 1. The cost is less than that of other buckets if the rest is leased. ARGV[2]: microseconds since the
 * epoch, or `` for the time of Redis. ARGV[3]: a JSON array with, per requested lease: key, key of leases, rate, burst,
 * the tokens still held, and the wanted total. ARGV[4]: the holder.
 *
 * It returns a JSON array with four numbers per charge: admitted (1 or 0), the index of its tightest bucket (from 0),
 * what remains there, and seconds: until full if admitted, else until it could be admitted. Then three per lease:
 * tokens granted, the bucket's use in microtokens, and the tokens of all holders.
 *
 * A bucket is stored as `used at`, its leases as `holder tokens until`, oldest first. Leased tokens count as used. They
 * may be spent later, so the bucket must not refill with them meanwhile: it fills only down to a use equal to its
 * leases, so bucket and leases together never hold more than the burst. (Two keys, because the previous version treats
 * a bucket in another format as full.) A lease lasts a quarter of a second longer here than for its holder, which
 * counts from before its request and may spend tokens along with a charge.
 *
 * The leases of a bucket are at most a fifth of its burst, and a lease leaves at least a fifth to direct charges. A
 * charge refused because leases hold what it needs pauses new leases for longer than its wait; `-` stores the pause,
 * with 0 tokens.
 *
 * All reads come first and all writes last. Redis refuses the first write or none (replica, out of memory), so a failed
 * script has changed nothing. A value in an unknown format counts as a full bucket.
 */
export const CHARGE_SCRIPT = `
local UNITS = 1000000
local HELD, PAUSED = 1250000, 5000000
local charges, asks = cjson.decode(ARGV[1]), cjson.decode(ARGV[3])
local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local stored = redis.call('MGET', unpack(KEYS))
local used, leases, leased, paused = {}, {}, {}, {}
local rates, changed = {}, {}
local function read(i, l)
  local u, at, list, total = nil, nil, {}, 0
  if stored[i] then u, at = string.match(stored[i], '^(%d+) (%d+)$') end
  u, at = tonumber(u) or 0, tonumber(at) or now
  if l > 0 and stored[l] then
    for holder, tokens, till in string.gmatch(stored[l], '(%S+) (%d+) (%d+)') do
      tokens = tonumber(tokens)
      till = math.min(tonumber(till), now + (tokens > 0 and HELD or PAUSED))
      if tokens == 0 then
        if till > now then paused[i] = till end
      elseif till > at or till > now then
        list[#list + 1] = { holder, tokens, till }
        total = total + tokens
      end
    end
  end
  return u, at, list, total
end
local function bring(i, l, rate)
  if used[i] then return end
  local u, at, list, total = read(i, l)
  local live = {}
  for n = 1, #list do
    local lease = list[n]
    if lease[3] > now then
      live[#live + 1] = lease
    else
      u = math.max(total * UNITS, u - math.max(0, lease[3] - at) * rate)
      at = math.max(at, lease[3])
      total = total - lease[2]
    end
  end
  used[i] = math.max(total * UNITS, u - math.max(0, now - at) * rate)
  leases[i], leased[i] = live, total
end
local function write(i, l, rate)
  rates[i] = rate
  if l > 0 then changed[i] = l end
end
local answer = {}
for c = 1, #charges do
  local charge = charges[c]
  local wait = 0
  for p = 1, #charge, 5 do
    local i, l, cost, rate, burst = charge[p], charge[p + 1], charge[p + 2], charge[p + 3], charge[p + 4]
    bring(i, l, rate)
    local excess = used[i] + cost * UNITS - burst * UNITS
    if excess > 0 and cost > 0 then
      if cost > burst then excess = burst * UNITS end
      local seconds = excess / (rate * UNITS)
      local blocked = (leased[i] + cost - burst) * UNITS
      if cost <= burst and blocked > 0 then
        local last = 0
        for n = 1, #leases[i] do last = math.max(last, leases[i][n][3] - now) end
        seconds = math.max(seconds, last / 1000000 + blocked / (rate * UNITS))
        paused[i] = now + PAUSED
        write(i, l, rate)
      end
      wait = math.max(wait, math.ceil(seconds))
    end
  end
  local tightest, least, reset = 0, math.huge, 0
  for p = 1, #charge, 5 do
    local i, cost, rate, burst = charge[p], charge[p + 2], charge[p + 3], charge[p + 4]
    if wait == 0 and cost > 0 then
      used[i] = used[i] + cost * UNITS
      rates[i] = rate
    end
    local left = math.max(0, math.floor((burst * UNITS - used[i]) / UNITS))
    if left < least then
      tightest, least = (p - 1) / 5, left
      reset = math.ceil(used[i] / (rate * UNITS))
    end
  end
  local n = #answer
  answer[n + 1] = wait == 0 and 1 or 0
  answer[n + 2] = tightest
  answer[n + 3] = least
  answer[n + 4] = wait == 0 and reset or wait
end
for a = 1, #asks do
  local i, l, rate, burst, held, want = unpack(asks[a])
  bring(i, l, rate)
  local others, kept = 0, {}
  for n = 1, #leases[i] do
    local lease = leases[i][n]
    if lease[1] ~= ARGV[4] then
      kept[#kept + 1] = lease
      others = others + lease[2]
    end
  end
  local fifth = math.floor(burst / 5)
  local spare = math.floor(burst - used[i] / UNITS - burst / 5)
  local granted = paused[i] and 0 or math.max(0, math.min(want - held, fifth - others - held, spare))
  if granted > 0 then
    kept[#kept + 1] = { ARGV[4], held + granted, now + HELD }
    leases[i], leased[i] = kept, others + held + granted
    used[i] = math.max(leased[i] * UNITS, used[i] + granted * UNITS)
    write(i, l, rate)
  end
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = granted, used[i], leased[i]
end
for i, rate in pairs(rates) do
  local ttl = math.ceil(used[i] / rate / 1000) + 1000
  if #leases[i] > 0 or paused[i] then ttl = ttl + PAUSED / 1000 end
  ttl = string.format('%.0f', ttl)
  redis.call('SET', KEYS[i], string.format('%.0f %.0f', used[i], now), 'PX', ttl)
  if changed[i] then
    local list = {}
    for n, lease in ipairs(leases[i]) do list[n] = string.format('%s %.0f %.0f', unpack(lease)) end
    if paused[i] then list[#list + 1] = string.format('- 0 %.0f', paused[i]) end
    redis.call('SET', KEYS[changed[i]], table.concat(list, ' '), 'PX', ttl)
  end
end
return cjson.encode(answer)
`;

export const CHARGE_SCRIPT_SHA = createHash('sha1').update(CHARGE_SCRIPT).digest('hex');
