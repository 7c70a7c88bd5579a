#!/bin/sh
# SPDX-License-Identifier: MIT
# etcd.sh: a store of one or three real etcd members on free ports of
# 127.0.0.1, in folder DIR.
#
#   etcd.sh start DIR [members=3] [tls] [users] [quota=BYTES] [peers=L:V,L:V,L:V] [election=MS]
#               peers: each member listens to the others at port L, and they reach
#               it at port V, where a proxy is
#               election: the time-out of elections (2000), long for a busy machine
#   etcd.sh stop DIR            end all members; the folder stays
#   etcd.sh kill DIR N          SIGKILL to member N (1, 2, 3)
#   etcd.sh pause|resume DIR N  SIGSTOP, SIGCONT
#   etcd.sh restart DIR N       start member N again
#   etcd.sh ctl DIR ARGS...     etcdctl on all members (as root where users)
#
# After start DIR has: endpoints (URLs with commas), pid.N, log.N, and
#   tls:   ca.pem, client.pem and client.key, other-ca.pem, stranger.pem and
#          stranger.key (of the other CA), expired.pem and expired.key;
#          agent.pem, and for shells ncclbpf-control.pem, ncclbpf-observe.pem
#   users: password.root, password.operator (may change /ncclbpf/),
#          password.viewer (may read it); mode 600
# Exit status 77: etcd is not installed.
set -eu

case ${1:-} in
start | stop | kill | pause | resume | restart | ctl) ;;
*)
	sed -n '3,/^set -eu/{/^set -eu/d;s/^# \{0,1\}//;p;}' "$0"
	exit 64
	;;
esac
command -v etcd >/dev/null || {
	echo "etcd is not installed (Debian: etcd-server, etcd-client)" >&2
	exit 77
}
verb=$1 dir=$2
shift 2
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# name, days, CA's name, extensions, unit (the name if not given). No common
# name: etcd's JSON gateway refuses client certificates that have one.
certificate() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
		-subj "/O=ncclbpf test/OU=${5:-$1}" -keyout "$dir/$1.key" \
		-out "$dir/$1.csr" 2>/dev/null
	printf '%s\n' "$4" >"$dir/ext"
	openssl x509 -req -in "$dir/$1.csr" -CA "$dir/$3.pem" -CAkey "$dir/$3.key" \
		-CAcreateserial -days "$2" -extfile "$dir/ext" -out "$dir/$1.pem" 2>/dev/null
	rm -f "$dir/$1.csr" "$dir/ext"
}

authority() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
		-subj "/CN=$1" -keyout "$dir/$1.key" -out "$dir/$1.pem" 2>/dev/null
}

certificates() {
	authority ca
	authority other-ca
	certificate server 2 ca "subjectAltName=IP:127.0.0.1,DNS:localhost"
	certificate client 2 ca "extendedKeyUsage=clientAuth"
	certificate agent 2 ca "subjectAltName=IP:127.0.0.1,DNS:localhost" ncclbpf-observe
	certificate ncclbpf-control 2 ca "extendedKeyUsage=clientAuth"
	certificate ncclbpf-observe 2 ca "extendedKeyUsage=clientAuth"
	certificate stranger 2 other-ca "extendedKeyUsage=clientAuth"
	certificate expired -1 ca "extendedKeyUsage=clientAuth"
}

# Below the ports that the kernel gives to connections: a member that is away for a moment must
# find its ports free.
free_ports() {
	python3 - "$1" <<-'END'
		import random, socket, sys
		s = []
		while len(s) < int(sys.argv[1]):
		    x = socket.socket()
		    try:
		        x.bind(("127.0.0.1", random.randrange(10000, 32768)))
		        s.append(x)
		    except OSError:
		        pass
		print(*[x.getsockname()[1] for x in s])
	END
}

member() { # number
	nohup setsid sh -c "echo \$\$ >'$dir/pid.$1'; exec $(cat "$dir/command.$1")" \
		>>"$dir/log.$1" 2>&1 </dev/null &
	while [ ! -s "$dir/pid.$1" ]; do sleep 0.01; done
}

# A killed process may keep its ports until the last of its threads has ended; the first one may
# be a zombie before that.
ended() { # number
	! grep -hs '^State:' "/proc/$(cat "$dir/pid.$1")"/task/*/status | grep -qv '[ZX] ('
}

# Returns when the member accepts connections.
listening() { # number
	port=$(sed 's/.*listen-client-urls [^ ]*:\([0-9]*\) .*/\1/' "$dir/command.$1")
	until grep -q "$(printf '0100007F:%04X 00000000:0000 0A' "$port")" /proc/net/tcp; do
		if ended "$1"; then
			echo "etcd did not start again; its log: $dir/log.$1" >&2
			tail -5 "$dir/log.$1" >&2
			exit 1
		fi
		sleep 0.05
	done
}

ctl() {
	ETCDCTL_API=3
	export ETCDCTL_API
	# a busy machine's member may need more than etcdctl's five seconds
	set -- --endpoints "$(cat "$dir/endpoints")" --command-timeout 60s "$@"
	[ -f "$dir/ca.pem" ] && set -- --cacert "$dir/ca.pem" --cert "$dir/client.pem" \
		--key "$dir/client.key" "$@"
	[ -f "$dir/password.root" ] && set -- --user "root:$(cat "$dir/password.root")" "$@"
	etcdctl "$@"
}

ready() {
	for _ in $(seq 200); do
		ctl --command-timeout 5s endpoint health >/dev/null 2>&1 && return
		sleep 0.05
	done
	echo "etcd did not start; its log: $dir/log.1" >&2
	tail -5 "$dir/log.1" >&2
	exit 1
}

user() { # name, role
	ctl user add "$1:secret-of-$1" >/dev/null
	ctl user grant-role "$1" "$2" >/dev/null
	(umask 077 && echo "secret-of-$1" >"$dir/password.$1.new")
}

users() {
	ctl role add root >/dev/null 2>&1 || :
	ctl role add operator >/dev/null
	ctl role grant-permission operator --prefix=true readwrite /ncclbpf/ >/dev/null
	ctl role add viewer >/dev/null
	ctl role grant-permission viewer --prefix=true read /ncclbpf/ >/dev/null
	user root root
	user operator operator
	user viewer viewer
	ctl auth enable >/dev/null
	for n in root operator viewer; do mv "$dir/password.$n.new" "$dir/password.$n"; done
}

start() {
	n=1 tls= users= quota= peers= election=2000
	for option in "$@"; do
		case $option in
		members=*) n=${option#members=} ;;
		tls) tls=1 ;;
		users) users=1 ;;
		quota=*) quota="--quota-backend-bytes ${option#quota=}" ;;
		peers=*) peers=${option#peers=} ;;
		election=*) election=${option#election=} ;;
		*)
			echo "etcd.sh: unknown option $option" >&2
			exit 64
			;;
		esac
	done
	scheme=http secure=
	if [ -n "$tls" ]; then
		certificates
		scheme=https
		secure="--cert-file $dir/server.pem --key-file $dir/server.key"
		secure="$secure --client-cert-auth --trusted-ca-file $dir/ca.pem"
	fi
	ports=$(free_ports $((2 * n)))
	cluster= urls= i=0
	for p in $ports; do
		i=$((i + 1))
		if [ "$i" -le "$n" ]; then
			urls=$urls,$scheme://127.0.0.1:$p
		else
			cluster=$cluster,m$((i - n))=http://127.0.0.1:$p
		fi
	done
	echo "${urls#,}" >"$dir/endpoints"
	[ -z "$peers" ] || cluster=$(echo "$peers" | awk -F '[:,]' '{ for (i = 1; i < NF; i += 2)
		printf ",m%d=http://127.0.0.1:%d", (i + 1) / 2, $(i + 1) }')
	for i in $(seq "$n"); do
		url=$(echo "${urls#,}" | cut -d, -f"$i")
		peer=$(echo "${cluster#,}" | cut -d, -f"$i" | sed 's/^m[0-9]*=//')
		listen=$peer
		[ -z "$peers" ] ||
			listen=http://127.0.0.1:$(echo "$peers" | cut -d, -f"$i" | cut -d: -f1)
		rm -f "$dir/pid.$i"
		echo "etcd --name m$i --data-dir $dir/data.$i \
--listen-client-urls $url --advertise-client-urls $url \
--listen-peer-urls $listen --initial-advertise-peer-urls $peer \
--initial-cluster ${cluster#,} --initial-cluster-state new \
--heartbeat-interval $((election / 10)) --election-timeout $election --snapshot-count 10000 \
--bcrypt-cost 4 --logger zap --log-level warn $secure $quota" >"$dir/command.$i"
		member "$i"
	done
	ready
	[ -z "$users" ] || users
}

signal() { # signal, number
	kill "-$1" "$(cat "$dir/pid.$2")" 2>/dev/null || :
}

case $verb in
start) start "$@" ;;
stop)
	for f in "$dir"/pid.*; do
		[ -f "$f" ] || continue
		n=${f##*.}
		signal CONT "$n"
		signal KILL "$n"
	done
	;;
kill)
	signal KILL "$1"
	until ended "$1"; do sleep 0.02; done
	;;
pause) signal STOP "$1" ;;
resume) signal CONT "$1" ;;
restart)
	rm -f "$dir/pid.$1"
	member "$1"
	listening "$1"
	;;
ctl) ctl "$@" ;;
esac
