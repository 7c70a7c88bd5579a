#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# `metrics serve=`: the job's metrics over HTTP and HTTPS, with bad clients, a
# job that goes and comes again, and a real Prometheus that scrapes it with the
# alerts and the dashboard of examples/monitoring.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "metrics over HTTP" "the stand-in host was not built"
trap finish EXIT
cd "$T" || exit 1
M=$TOP/examples/monitoring
tool() { command -v "$1" || ls "$TOP/build/tools/$1" 2>/dev/null; }

begin() {
	NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=one \
		timeout 300 "$B/test/fakes/host/standin" --ranks 2 --procs --events --seconds 180 \
		--pause-ms 2 --nccl 2.28.9 --min 4K --max 4M --factor 1024 >one.out 2>&1 &
	jobs="$jobs $!"
	job=$!
	await timeout 300 "$S" -q attach one >/dev/null 2>&1
	run -J one telemetry on
}
serve() { # LOG OPTIONS...: sets url, port and server
	log=$1
	shift
	"$S" -J one metrics "$@" >"$log" 2>&1 &
	server=$!
	jobs="$jobs $server"
	await grep -q '^https*://' "$log"
	url=$(cat "$log")
	port=$(expr "$url" : '.*:\([0-9]*\)/metrics$')
}
get() { # URL -> out; status of the answer on the first line of head
	python3 - "$1" >out 2>why <<'P'
import ssl, sys, urllib.request
c = ssl.create_default_context(cafile="cert.pem") if sys.argv[1].startswith("https") else None
print(urllib.request.urlopen(sys.argv[1], timeout=20, context=c).read().decode(), end="")
P
}
gives() { # STATUS
	get "$url" || [ "$1" != 200 ] && { [ "$1" = 200 ] || grep -q "HTTP Error $1" why; }
}

begin
status 64 "no port" -J one metrics serve=localhost
status 64 "not a file as well" -J one metrics out=m.prom serve=:0
status 64 "a certificate needs its key" -J one metrics serve=:0 tls_cert=x.pem
status 78 "an address of another host" -J one metrics serve=192.0.2.1:9
serve plain.log serve=:0
case $url in http://127.0.0.1:*) ;; *) false ;; esac
ok "it says where it serves, this host alone" $?
python3 "$TOP/test/integration/metrics_clients.py" "$port" >clients 2>&1
rc=$?
while read -r verdict _ _ name; do
	case $verdict in ok) ok "$name" 0 ;; not) ok "${name#* }" 1 ;; esac
done <clients
[ "$rc" -eq 0 ] || sed 's/^/# /' clients
ok "all clients were tried" "$rc"
have_times() { get "$url" && grep -q '^nccl_bus_bandwidth_gbs{' out; }
await have_times
names() { sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$1" | sort; }
cp out served.prom
run -J one metrics
names served.prom >a && names out >b && diff a b >why
ok "the same families as the text file" $?
promtool=$(tool promtool)
if [ -n "$promtool" ]; then
	"$promtool" check metrics <served.prom 2>&1 |
		grep -v '^nccl_[a-z0-9_]*_microseconds use base unit "seconds"' >why
	[ ! -s why ]
	ok "promtool has nothing to say" $?
else
	ok "promtool # SKIP no promtool (test/setup.sh promtool)" 0
fi
kill "$job"
wait "$job" 2>/dev/null
await gives 503
ok "a job that is gone: 503, with the reason" $?
begin
await gives 200
ok "a job that comes again: 200" $?

# ---- Prometheus ----
prometheus=$(tool prometheus)
if [ -n "$prometheus" ]; then
	status 0 "a policy" -J one policy load "$B/policies/size_aware.policy"
	status 0 "decides" -J one policy use size_aware
	status 0 "and its runs are timed" -J one policy time on
	cat >prometheus.yml <<-Y
		global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
		rule_files: [$M/alerts.yml]
		scrape_configs:
		  - job_name: ncclbpf
		    static_configs: [{ targets: ["127.0.0.1:$port"] }]
	Y
	place=$((20000 + $$ % 20000))
	"$prometheus" --config.file=prometheus.yml --storage.tsdb.path=tsdb --log.level=warn \
		--web.listen-address=127.0.0.1:$place >prometheus.log 2>&1 &
	jobs="$jobs $!"
	scraped() {
		python3 "$TOP/test/integration/metrics_prometheus.py" "$place" \
			"$M/dashboard.json" >asked 2>&1
	}
	await scraped
	cp asked why
	scraped
	ok "a real Prometheus scrapes it, and answers the dashboard and the alerts" $?
else
	ok "Prometheus # SKIP no prometheus (test/setup.sh promtool)" 0
fi
kill -INT "$server"
wait "$server"
[ $? -eq 130 ]
ok "Ctrl-C ends it" $?

# ---- TLS ----
if command -v openssl >/dev/null; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem \
		-out cert.pem -days 2 -subj /CN=localhost \
		-addext 'subjectAltName=IP:127.0.0.1' 2>why
	status 78 "a key that is none" -J one metrics serve=:0 tls_cert=cert.pem tls_key=cert.pem
	serve tls.log serve=127.0.0.1:0 tls_cert=cert.pem tls_key=key.pem
	get "$url" && grep -q '^ncclbpf_build_info{' out
	ok "over HTTPS, with the certificate checked" $?
	url=http://127.0.0.1:$port/metrics
	! get "$url"
	ok "and in plain text no more" $?
	kill -TERM "$server"
else
	ok "TLS # SKIP no openssl" 0
fi

# ---- answers that raise errors while they are read ----
cat >raise.lua <<'E'
local http
require("ncclbpf.commands.metrics").cmd_metrics = function(ctx)
	http = ctx.app.binary.http
	return { schema = "metrics/1", data = {}, text = "" }
end
nb.run "metrics"
local raises = setmetatable({}, { __index = function(_, name) error("no " .. name) end })
local late = setmetatable({ status = 200, body = "late" }, getmetatable(raises))
local answers = { ["/raises"] = raises, ["/late"] = late, ["/text"] = "text",
	["/nothing"] = {}, ["/number"] = { status = 200, body = 42 } }
local server = assert(http("127.0.0.1", "0"))
local f = io.open("raise.port", "w")
f:write(server:port(), "\n")
f:close()
local done
while not done do
	server:serve(0.1, function(_, path)
		done = path == "/end"
		return answers[path] or { status = 200, body = "end" }
	end)
end
server:serve(0.5, error)
E
"$S" -f raise.lua >raise.log 2>&1 &
server=$!
jobs="$jobs $server"
await test -s raise.port
python3 - "$(cat raise.port)" >out 2>why <<'P'
import http.client, sys
for path in "raises", "late", "text", "nothing", "number", "raises", "end":
    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
    c.request("GET", "/" + path)
    r = c.getresponse()
    print(path, r.status, r.read().decode().strip())
P
wait "$server"
rc=$?
cat raise.log out >>why
failed="500 the metrics cannot be made"
printf '%s\n' "raises $failed" "late $failed" "text $failed" "nothing $failed" "number 200 42" \
	"raises $failed" "end 200 end" | diff - out >>why && [ $rc -eq 0 ]
ok "an answer that raises an error is a 500, and the server goes on" $?
