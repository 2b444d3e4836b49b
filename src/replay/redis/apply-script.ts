/**
 * Applies changes to one session, all or none, if this instance holds it. Repeating them is harmless: whoever lost the
 * connection in the middle sends them again.
 *
 * KEYS: the session's hash, the hash of its streams. ARGV: instance, time to live in ms, prefix of the logs' keys, then
 * the operations, each a name and its arguments.
 * Returns 1; 0 when the session is another instance's, or gone.
 */
export const APPLY_SCRIPT = `
local session, streams = KEYS[1], KEYS[2]
local instance, ttl, logs = ARGV[1], ARGV[2], ARGV[3]
local i = 4
local function take()
  i = i + 1
  return ARGV[i - 1]
end
local owner = redis.call('HGET', session, 'owner')
if owner and owner ~= instance then return 0 end
if not owner and ARGV[i] == 'end' then return 1 end
if not owner and ARGV[i] ~= 'session' then return 0 end

local function raise(field, value)
  local before = tonumber(redis.call('HGET', streams, field) or '0')
  if tonumber(value) > before then redis.call('HSET', streams, field, value) end
end

local function forget(stream)
  redis.call('DEL', logs .. stream)
  for _, field in ipairs(redis.call('HKEYS', streams)) do
    if string.sub(field, 1, #stream + 1) == stream .. ' ' then redis.call('HDEL', streams, field) end
  end
end

local function keepAlive()
  redis.call('PEXPIRE', session, ttl)
  redis.call('PEXPIRE', streams, ttl)
  for _, field in ipairs(redis.call('HKEYS', streams)) do
    local stream = string.match(field, '^(%d+) kind$')
    if stream then redis.call('PEXPIRE', logs .. stream, ttl) end
  end
end

while i <= #ARGV do
  local op = take()
  if op == 'session' then
    redis.call('HSET', session, 'record', take(), 'owner', instance)
    redis.call('HSETNX', session, 'seen', take())
    keepAlive()
  elseif op == 'seen' then
    redis.call('HSET', session, 'seen', take())
    keepAlive()
  elseif op == 'end' then
    for _, field in ipairs(redis.call('HKEYS', streams)) do
      local stream = string.match(field, '^(%d+) kind$')
      if stream then redis.call('DEL', logs .. stream) end
    end
    redis.call('DEL', session, streams)
  elseif op == 'open' then
    local stream = take()
    redis.call('HSET', streams, stream .. ' kind', take(), stream .. ' requests', take())
    redis.call('PEXPIRE', streams, ttl)
  elseif op == 'event' then
    local stream, sequence = take(), take()
    local log = logs .. stream
    local added = redis.pcall('XADD', log, sequence .. '-0', 'at', take(), 'pinned', take(), 'request', take(),
      'json', take(), 'checksum', take())
    -- An event that is there already was added by an attempt whose answer was lost.
    if type(added) == 'table' and added.err and not string.find(added.err, 'equal or smaller', 1, true) then
      return redis.error_reply(added.err)
    end
    redis.call('PEXPIRE', log, ttl)
  elseif op == 'settle' then
    local stream, request = take(), take()
    redis.call('HSET', streams, stream .. ' settled ' .. request, 1)
  elseif op == 'drop' then
    local stream, sequence, request = take(), take(), take()
    redis.call('XDEL', logs .. stream, sequence .. '-0')
    raise(stream .. ' last', sequence)
    if request == '' then raise(stream .. ' lastLost', sequence)
    else redis.call('HSET', streams, stream .. ' lost ' .. request, sequence) end
  elseif op == 'shown' then
    local stream = take()
    raise(stream .. ' shown', take())
  elseif op == 'finish' then
    local stream = take()
    redis.call('HSET', streams, stream .. ' ended', take())
  elseif op == 'cut' then
    local stream, after = take(), take()
    local entries = redis.pcall('XRANGE', logs .. stream, '(' .. after .. '-0', '+')
    if entries.err then
      -- Something else than a log: nothing of it is ours.
      redis.call('DEL', logs .. stream)
      entries = {}
    end
    for _, entry in ipairs(entries) do
      redis.call('XDEL', logs .. stream, entry[1])
      raise(stream .. ' last', string.match(entry[1], '^%d+'))
    end
  elseif op == 'forget' then
    forget(take())
  end
end
return 1
`;

/**
 * Takes a session over, unless an instance that lives holds it.
 *
 * KEYS: the session's hash. ARGV: instance, prefix of the keys by which instances show that they live.
 * Returns nothing when there is no such session, its holder when another has it, otherwise 'yours', record, last seen.
 */
export const CLAIM_SCRIPT = `
local record, seen, owner = unpack(redis.call('HMGET', KEYS[1], 'record', 'seen', 'owner'))
if not record then return nil end
if owner and owner ~= ARGV[1] and redis.call('EXISTS', ARGV[2] .. owner) == 1 then return {'held', owner} end
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
return {'yours', record, seen}
`;
