#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd
# Controllers see the maps of all sites: three sites, one rank each, and a controller
# that adds up a counter of their processes. If a site's maps are missing, the sum
# falls to the others', and controller status names the site.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "controllers that see all sites"
policy=$B/test/corpus/events/sum_sites.policy
[ -e "$policy" ] || skip_all "controllers that see all sites" "no clang at build time"
enter_store
tls_store sum
ask() { run -J sum "$@"; }
here() { # DIR ARGUMENTS: a shell of that site, without the fleet
	NCCLBPF_FLEET='' NCCLBPF_SOCKET_DIR=$T/$1
	export NCCLBPF_FLEET NCCLBPF_SOCKET_DIR
	shift
	run -J sum "$@"
	NCCLBPF_FLEET=$fleet
}
NCCLBPF_AGENT_LISTEN=127.0.0.1
export NCCLBPF_AGENT_LISTEN
mkdir -m 700 a b c
NCCLBPF_JOB=sum NCCLBPF_FLEET_CERT=$T/etcd/agent.pem \
	NCCLBPF_FLEET_KEY=$T/etcd/agent.key NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
	NCCLBPF_POLICY="$policy" NCCLBPF_CONTROLLER_MS=50 NCCLBPF_SOCKET_DIR="$T/a" \
	timeout 0 "$B/test/fakes/host/standin" --ranks 3 --nodes 3 --procs --events --min 4M \
	--max 4M --seconds inf --pause-ms 2 --rank-env 0:RANK=0 --rank-env 1:RANK=1 \
	--rank-env 2:RANK=2 --rank-env "1:NCCLBPF_SOCKET_DIR=$T/b" \
	--rank-env "2:NCCLBPF_SOCKET_DIR=$T/c" >log 2>&1 &
job=$!
jobs="$jobs $job"
agent() { # DIR: an agent as a service; the PID in $agent
	NCCLBPF_FLEET_CERT=$T/etcd/agent.pem NCCLBPF_FLEET_KEY=$T/etcd/agent.key \
		"$B/ncclbpf-agent" --job sum --dir "$T/$1" >>"agent.$1" 2>&1 &
	agent=$!
	jobs="$jobs $agent"
}
sites() { ctl get --prefix --keys-only $keys/site/ | sed -n 's,.*/site/,,p'; }
number() { [ "$(sites | wc -l)" -eq "$1" ]; }
coordinates() { ctl get --print-value-only $keys/order/coordinator | grep -q '"site"'; }
agent a
await number 1
await coordinates
a=$(sites)
agent b
await number 2
b=$(sites | grep -vx "$a")
agent c
agent_c=$agent
await number 3
c=$(sites | grep -vx "$a" | grep -vx "$b")
await registered 3
need "three sites run the job" $?

# ---- each process counts something else ----
count() { # DIR VALUE
	here "$1" map set mine 0 "$2"
	[ "$rc" -eq 0 ]
}
count a 1 && count b 10 && count c 100
ok "each process has its own number" $?
total() { ask -o tsv map dump total; cut -f 3- out | grep -qw "$1"; }
await total 111
ok "the controller makes their sum known to all ranks" $?
sites_of() { # WANT: do all rows of the sum come from so many sites
	ask -o json map dump total
	[ "$(grep -o "\"site\":\"[^\"]*\"" out | sort -u | wc -l)" -eq "$1" ]
}
sites_of 3
ok "on all three sites" $?
saw() { # SUM PROCESSES MISSING: what the last run saw, in the process of site a
	here a -o json map dump saw
	python3 - "$@" "$T/out" <<'END'
import json, sys
want, path = [int(x) for x in sys.argv[1:4]], sys.argv[4]
found = {}
def walk(x):
    if isinstance(x, dict):
        if "key" in x and "value" in x: found[str(x["key"])] = int(x["value"])
        for v in x.values(): walk(v)
    elif isinstance(x, list):
        for v in x: walk(v)
walk(json.load(open(path)))
sys.exit([found.get(str(i)) for i in range(3)] != want)
END
}
await saw 111 3 0
ok "its context counts the processes of all sites" $?
ask -o tsv controller status
awk -F '\t' -v a="$a" 'NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
	{ n++; bad += $h["site"] != a || $h["other_sites"] != 2 || $h["missing_sites"] != 0 }
	END { exit bad || n != 1 }' out
ok "controller status counts the other sites" $?
count b 20
await total 121
ok "a site's new number reaches the sum" $?

# ---- the agent of one site is stopped ----
halt "$agent_c"
await saw 21 3 1
ok "without the maps of a site the sum falls to the others'" $?
missing() { ask -o "$1" controller status; tr -s '\n ' ' ' <out | grep -q "$2"; }
await missing tsv "site $c: the maps are [0-9]* s old"
ok "controller status names the site" $?
missing table "note: without the maps of site $c"
ok "for people too" $?
kill -CONT "$agent_c"
await saw 121 3 0
ok "the site counts again when its agent answers" $?
await total 121
ok "and the job has the same sum" $?

# ---- the agent of one site is lost ----
kill -KILL "$agent_c"
await saw 21 3 1
await missing tsv "site $c: .*the agent's lease has ended"
ok "a site without an agent is named as well" $?
agent c
await saw 121 3 0
ok "its next agent brings the maps back" $?
ask -o tsv audit
grep -q "	controllers	$a	controller import .*	refused: site $c: " out
ok "audit has a change of controllers that the site did not stage, and the reason" $?

# ---- a site whose agent sends other bytes ----
cat >wolf.py <<'END'
# An agent's server that sends what the file reply has.
import http.server
class Wolf(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        with open("reply", "rb") as f:
            body = f.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Wolf)
with open("port", "w") as f:
    f.write(str(server.server_port))
server.serve_forever()
END
digest=$(ask -o json policy list >/dev/null; grep -o '"digest":"[0-9a-f]*"' out | head -1 |
	grep -o '[0-9a-f]\{64\}')
sends() { # KEY_SIZE VALUE_SIZE N KEY TIMES: a line, and a map of such a shape
	python3 - "$digest" "$@" <<'END'
import os, struct, sys
key_size, value_size, n, key, times = (int(x) for x in sys.argv[2:])
one = bytes.fromhex(sys.argv[1]) + struct.pack("<IIII", 0, key_size, value_size, n)
one += struct.pack("<I", key) + struct.pack("<Q", 1 << 40)[:value_size]
with open("new", "wb") as f:
    f.write(b'{"ok":true,"data":{"age_us":10,"processes":1,"missing":0}}\n' + one * times)
os.rename("new", "reply")
END
}
echo "no line of JSON" >reply
python3 wolf.py &
jobs="$jobs $!"
served() { [ -s port ]; }
await served
address=http://127.0.0.1:$(cat port)
ctl put $keys/site/wolf \
	"{\"host\":\"far\",\"processes\":1,\"elected\":1,\"address\":\"$address\"}" >/dev/null
await missing tsv "site wolf: the first line of the agent's reply is not JSON"
ok "a reply without a line of JSON is refused, and the site is named" $?
sends 4 8 1 0 2
await missing tsv "site wolf: refused: map mine of policy sum_sites comes twice"
ok "so is a map that comes twice" $?
sends 4 4 1 0 1
await missing tsv "site wolf: refused: policy sum_sites has no merged map 0 of that shape"
ok "and one of another shape" $?
sends 4 8 1 7 1
await missing tsv "site wolf: refused: policy sum_sites has no merged map 0 of that shape"
ok "and one with a key beyond the map's end" $?
sends 4 8 1000000 0 1
await missing tsv "site wolf: refused: merged maps are damaged at byte"
ok "and one that is cut off" $?
saw 121 4 1
ok "none of them changed the sum" $?
sends 4 8 1 0 1
await saw $((121 + (1 << 40))) 4 0
ok "a map of the right shape counts" $?
ctl del $keys/site/wolf >/dev/null
await saw 121 3 0
ok "until the site has gone" $?
kill -TERM $job
wait $job
! grep -qi diverge log
ok "the host saw no divergence" $?
