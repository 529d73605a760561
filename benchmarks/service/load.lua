-- Posts the bodies of a folder in turn, and prints one line of JSON at the end.
local bodies, place = {}, 0

function init(arguments)
  for number = 1, tonumber(arguments[2]) do
    local file = assert(io.open(arguments[1] .. "/" .. number, "rb"))
    bodies[number] = file:read("*a")
    file:close()
  end
  wrk.method = "POST"
  wrk.headers["Content-Type"] = arguments[3]
end

function request()
  place = place % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[place])
end

function done(summary, latency, _)
  local errors = summary.errors
  print(string.format(
    '{"requests": %d, "seconds": %.6f, "p50": %.3f, "p99": %.3f, "failed": %d}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
