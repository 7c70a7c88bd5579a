#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# A real Prometheus scrapes the text file that `watch 1 metrics out=FILE` keeps up to date, as it
# would from node_exporter, with the alerts and the dashboard of examples/monitoring.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "metrics in Prometheus" "the mock NCCL (standin) was not built"
prometheus=$(command -v prometheus || ls "$TOP/build/tools/prometheus" 2>/dev/null)
[ -n "$prometheus" ] ||
	skip_all "metrics in Prometheus" "no prometheus (test/setup.sh promtool)"
trap finish EXIT
cd "$T" || exit 1
M=$TOP/examples/monitoring

NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=one \
	timeout 0 "$B/test/fakes/host/standin" --ranks 2 --procs --events --seconds inf \
	--pause-ms 2 --nccl 2.28.9 --min 4K --max 4M --factor 1024 >one.out 2>&1 &
jobs="$jobs $!"
await "$S" -q attach one
run -J one telemetry on
status 0 "a policy" -J one policy load "$B/policies/size_aware.policy"
status 0 "decides" -J one policy use size_aware
status 0 "and its runs are timed" -J one policy time on
"$S" -J one watch 1 metrics out=m.prom >watch.log 2>&1 &
jobs="$jobs $!"
has_times() { grep -qs '^nccl_bus_bandwidth_gbs{' m.prom; }
await has_times
ok "watch keeps the file up to date" $?
# The part of node_exporter: the file over HTTP, at a port that the system chooses.
python3 - >port 2>server.log <<'P' &
import http.server
class Text(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(open("m.prom", "rb").read())
server = http.server.HTTPServer(("127.0.0.1", 0), Text)
print(server.server_port, flush=True)
server.serve_forever()
P
jobs="$jobs $!"
await test -s port
cat >prometheus.yml <<Y
global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [$M/alerts.yml]
scrape_configs:
  - job_name: ncclbpf
    static_configs: [{ targets: ["127.0.0.1:$(cat port)"] }]
Y
serve() { # at a port that is free; if it is taken meanwhile, `scraped` begins anew
	place=$(python3 -c 'import socket
print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
	"$prometheus" --config.file=prometheus.yml --storage.tsdb.path=tsdb --log.level=warn \
		--web.listen-address=127.0.0.1:"$place" >prometheus.log 2>&1 &
	server=$!
	jobs="$jobs $server"
}
serve
scraped() {
	kill -0 $server 2>/dev/null || serve
	python3 "$TOP/test/integration/metrics_prometheus.py" "$place" "$M/dashboard.json" \
		>asked 2>&1
}
await scraped
rc=$?
cp asked why
ok "a real Prometheus scrapes it, and answers the dashboard and the alerts" $rc
