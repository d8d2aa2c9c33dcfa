-- The planted module among small files: every second request is its.
local count = 0

function request()
  count = count + 1
  return wrk.format("GET", count % 2 == 0 and "/planted" or "/small.txt")
end
