-- The default load: static files, most of them small, one in 16 of 1 MB.
local count = 0

function request()
  count = count + 1
  local name = count % 16 == 0 and "large" or count % 4 == 0 and "medium" or "small"
  return wrk.format("GET", "/" .. name .. ".txt")
end
