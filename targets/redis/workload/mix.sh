#!/bin/sh
# mix.sh PROGRAMS CLIENTS SECONDS [keys|scan]: half of the clients set and half of them get one of 100,000 keys, for so
# many seconds. Another one lists a tenth of all keys, waits for 50 ms, and does so again: by one KEYS, or by SCAN, which
# looks at some ten keys a call.
programs=$1 half=$((($2 + 1) / 2)) seconds=$3
ask="$programs/redis-cli -p 18968"
benchmark="$programs/redis-benchmark -p 18968 -q -r 100000"
case ${4:-keys} in
keys) list="$ask keys key:*0" ;;
scan) list="$ask --scan --pattern key:*0" ;;
*) echo "mix.sh: $4 is neither keys nor scan" >&2; exit 2 ;;
esac
test "$($ask dbsize)" -gt 90000 || $benchmark -n 500000 -P 50 -t set >/dev/null
timeout "$seconds" $benchmark -c "$half" -n 1000000000 -t set >/dev/null &
timeout "$seconds" $benchmark -c "$half" -n 1000000000 -t get >/dev/null &
timeout "$seconds" sh -c "while $list; do sleep 0.05; done" >/dev/null
wait
exit 0
