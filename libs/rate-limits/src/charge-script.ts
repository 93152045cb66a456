import { createHash } from 'node:crypto';

/**
 * The arithmetic of `gcra.ts` in Lua, for all charges of a tick, in their order. Lua numbers are doubles, as ours are, so
 * the bounds that keep everything whole here keep it whole there.
 *
 * KEYS: the buckets, each once. ARGV[1]: a JSON array with, for each charge, `[cost, key, rate, burst, key, rate, burst...]`
 * where key counts from 1. ARGV[2]: microseconds since the epoch, or `` for the time of Redis.
 *
 * It answers a JSON array with four numbers for each charge: admitted (1 or 0), which of its buckets is the tightest (from
 * 0), what remains there, and seconds: until full when admitted, else until it could be admitted.
 *
 * All reads come first and all writes last. Redis refuses the first write or none (a replica, no memory), so a script that
 * fails has changed nothing. A value that is not ours counts as a full bucket.
 */
export const CHARGE_SCRIPT = `
local UNITS = 1000000
local charges = cjson.decode(ARGV[1])
local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local stored = redis.call('MGET', unpack(KEYS))
local used, at, rates = {}, {}, {}
for i = 1, #KEYS do
  local u, t
  if stored[i] then u, t = string.match(stored[i], '^(%d+) (%d+)$') end
  used[i] = tonumber(u) or 0
  at[i] = tonumber(t) or now
end
local answer = {}
for c = 1, #charges do
  local charge = charges[c]
  local cost = charge[1]
  local wait = 0
  for p = 2, #charge, 3 do
    local i, rate, burst = charge[p], charge[p + 1], charge[p + 2]
    local elapsed = now - at[i]
    if elapsed > 0 then used[i] = math.max(0, used[i] - elapsed * rate) end
    at[i] = now
    local excess = used[i] + cost * UNITS - burst * UNITS
    if excess > 0 and cost > 0 then
      if cost > burst then excess = burst * UNITS end
      wait = math.max(wait, math.ceil(excess / (rate * UNITS)))
    end
  end
  local tightest, least, reset = 0, math.huge, 0
  for p = 2, #charge, 3 do
    local i, rate, burst = charge[p], charge[p + 1], charge[p + 2]
    if wait == 0 and cost > 0 then
      used[i] = used[i] + cost * UNITS
      rates[i] = rate
    end
    local left = math.max(0, math.floor((burst * UNITS - used[i]) / UNITS))
    if left < least then
      tightest, least = (p - 2) / 3, left
      reset = math.ceil(used[i] / (rate * UNITS))
    end
  end
  local n = #answer
  answer[n + 1] = wait == 0 and 1 or 0
  answer[n + 2] = tightest
  answer[n + 3] = least
  answer[n + 4] = wait == 0 and reset or wait
end
for i, rate in pairs(rates) do
  local ttl = math.ceil(used[i] / rate / 1000) + 1000
  redis.call('SET', KEYS[i], string.format('%.0f %.0f', used[i], at[i]), 'PX', string.format('%.0f', ttl))
end
return cjson.encode(answer)
`;

export const CHARGE_SCRIPT_SHA = createHash('sha1').update(CHARGE_SCRIPT).digest('hex');
