-- A client that thinks 100 ms before each request, on a connection that it keeps.
function delay()
  return 100
end

function request()
  return wrk.format("GET", "/small.txt")
end
