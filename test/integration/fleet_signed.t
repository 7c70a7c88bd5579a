#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# Signed policies: keys, signatures and verdicts in the shell; and a job of two
# sites whose agents refuse each image without a good signature, in every way in which
# an image can come.
. "$TOP/test/integration/shell_lib.sh"
cd "$T" || exit 1
unset NCCLBPF_FLEET NCCLBPF_FLEET_CACERT NCCLBPF_FLEET_CERT NCCLBPF_FLEET_KEY NCCLBPF_FLEET_SIGNERS
cp "$B/policies/size_aware.policy" "$B/policies/force.policy" \
	"$B/policies/noop.policy" . 2>/dev/null

# ---- keys and signatures, without a job ----
status 0 "policy keygen" policy keygen alice
[ "$(stat -c %a alice.key)" = 600 ] && grep -q '^ncclbpf-public-key alice ' alice.pub
ok "the secret key is its owner's, the public key has its name" $?
status 1 "a key is never replaced" policy keygen alice
has "and how to go on is said" err "out=FILE"
run policy keygen mallory
cat alice.pub >signers
status 64 "policy sign without a key" policy sign size_aware.policy
status 66 "policy sign with a key that is not there" policy sign size_aware.policy key=none.key
status 0 "policy sign -n" -n policy sign size_aware.policy key=alice.key
[ ! -e size_aware.policy.sig ]
ok "writes nothing" $?
status 0 "policy sign" policy sign size_aware.policy key=alice.key
run -n policy sign size_aware.policy key=alice.key
run policy sign size_aware.policy key=alice.key
[ "$(grep -c ^ncclbpf-signature size_aware.policy.sig)" -eq 1 ]
ok "signing twice leaves one signature" $?
status 0 "policy verify without a list" -o table policy verify size_aware.policy
has "says that it checked no signature" out "not checked"
status 0 "policy verify with a list" -o table policy verify size_aware.policy keys=signers
has "says by whom" out "signed by alice"
run -o json policy verify size_aware.policy keys=signers
has "as JSON too" out '"name":"alice"' '"state":"good"'
status 77 "policy verify of an image without a signature" policy verify force.policy keys=signers
has "says so" err "no signature"
cp size_aware.policy.sig force.policy.sig
status 77 "the signature of another image" policy verify force.policy keys=signers
has "is named" err "another image"
sed 's/ [0-9a-f]\{64\} / '"$(sha256sum <force.policy | cut -c1-64)"' /' \
	size_aware.policy.sig >force.policy.sig
status 77 "a signature that only claims to be of the image" policy verify force.policy keys=signers
has "is wrong" err "signature of alice"
run policy sign force.policy key=mallory.key
rm force.policy.sig
run policy sign force.policy key=mallory.key
status 77 "a key that is not in the list" policy verify force.policy keys=signers
has "is named" err "not in the list"
status 66 "a list of keys that is not there" policy verify size_aware.policy keys=gone
has "is what the hint is about" err "cat alice.pub"
echo "ncclbpf-public-key bob AAAA" >broken
status 65 "a damaged list of keys" policy verify size_aware.policy keys=broken
# a store in which somebody else is always first, and one without watches
lua_run -e 'local requests, errors = require "ncclbpf.job.requests", require "ncclbpf.base.errors"
local put, fine, deleted = {}, false, {}
local store = { get = function() return {} end, lease = function() return { lease = 1 } end,
	revoke = function() end,
	watch = function() return nil, { code = "io", message = "no watch" } end,
	txn = function(_, t)
		for _, op in ipairs(t.success) do
			put[#put + 1], deleted[#deleted + 1] = op.put, op.delete
		end
		return { succeeded = fine, revision = 1 }
	end }
local group = { store = store, job = "j", images = {}, seconds = function() return 1 end }
local f = assert(io.open "size_aware.policy.sig")
local done, err = requests.put_policy(group, "p", "bytes", "d", f:read "a")
assert(not done and err.code == "busy" and err.object == "p", tostring(err))
for _, k in ipairs(put) do assert(not k:find "/image/", k) end
fine = true
done, err = requests.change(group, "policy undo", {})
assert(not done and err.message == "no watch", tostring(err))
assert(#deleted == 2 and deleted[1]:find "/request/", tostring(deleted[1]))' >why 2>&1
ok "signatures that cannot be stored are an error; a request without an answer is deleted" $?

lua_run -e 'local data = { state = "committed", comms = {}, same = 2 }
local shown = require "ncclbpf.job.change".result({ flags = {} }, data, "policy use p")
assert(shown.empty == "all 2 communicators have it already", shown.empty)' >why 2>&1
ok "a change that all communicators have already says so" $?
status 69 "a store that does not answer" --fleet http://127.0.0.1:1 -T 2 list
has "and how to ask it and the job" err "etcdctl endpoint health" "NCCLBPF_FLEET="

# ---- a job of two sites that requires signatures ----
. "$TOP/test/integration/store_lib.sh"
if ! [ -x "$B/test/fakes/host/standin" ] || ! command -v etcd >/dev/null ||
		! command -v etcdctl >/dev/null; then
	echo "# the job of two sites is skipped: no stand-in, or etcd is not installed"
	finish
	exit 0
fi
trap leave EXIT
"$etcd" start "$T/etcd" members=1
ok "a store" $?
fleet=$(cat etcd/endpoints)
export ETCDCTL_API=3
keys=/ncclbpf/1/signed
ctl() { etcdctl --endpoints="$fleet" --command-timeout=3s "$@"; }
mkdir -m 700 a b
NCCLBPF_FLEET="$fleet" NCCLBPF_FLEET_SIGNERS="$T/signers" "$agents" signed "$T/a" "$T/b" \
	>>log.agents 2>&1 &
jobs="$jobs $!"
start() { # SECONDS
	NCCLBPF_FLEET="$fleet" NCCLBPF_JOB=signed NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
		NCCLBPF_FLEET_SIGNERS="$T/signers" NCCLBPF_SOCKET_DIR="$T/a" timeout $(($1 + 60)) \
		"$B/test/fakes/host/standin" --ranks 4 --nodes 2 --procs --min 4M --max 32M \
		--seconds "$1" --pause-ms 5 --rank-env "2:NCCLBPF_SOCKET_DIR=$T/b" \
		--rank-env "3:NCCLBPF_SOCKET_DIR=$T/b" >log 2>&1 &
	job=$!
	jobs="$jobs $job"
}
registered() {
	[ "$(ctl get --prefix --print-value-only $keys/comm/ | grep -c '"since":[1-9]')" -eq 2 ]
}
fleet() { run --fleet "$fleet" -J signed "$@"; }
held() { # does a process hold policy $1
	NCCLBPF_SOCKET_DIR=$T/a run -o tsv -J signed policy list
	grep -q "$1" out
}
refused() { # NAME, WORDS, then the command: refused with these words, and no process has the image
	name=$1 words=$2
	shift 2
	fleet "$@"
	[ "$rc" -ne 0 ] && grep -q "$words" err && cp err first && ! held force
	ok "$name" $?
}
start 120
await registered
ok "two sites run the job" $?
rm force.policy.sig
refused "an unsigned policy is refused" "has no signature" policy use ./force.policy
has "and how to sign it is said" first "policy sign"
refused "with policy add, too" "has no signature" policy add ./force.policy
refused "and with -n" "has no signature" -n policy use ./force.policy
cat >load.lua <<'END'
local nb = require "ncclbpf"
local t = assert(nb.attach { fleet = arg[1], job = "signed" })
local p, err = t:policy_load { path = arg[2] }
print(p and "loaded" or err.message)
END
lua_run load.lua "$fleet" "$T/force.policy" >lua.out 2>&1
grep -q "has no signature" lua.out && ! held force
ok "Lua's policy_load lets the sites verify, and fails as they do" $?
lua_run load.lua "$fleet" "$T/size_aware.policy" >lua.out 2>&1
grep -q "^loaded" lua.out
ok "and holds a signed policy" $?
run policy sign force.policy key=mallory.key
refused "a policy of an unknown key is refused" "not in the list" policy use ./force.policy
digest=$(sha256sum <force.policy | cut -c1-64)
sed "s/ [0-9a-f]\{64\} / $digest /" size_aware.policy.sig |
	ctl put "$keys/signature/$digest" >/dev/null
refused "a signature of another image is refused" "signature of alice" policy use force.policy \
	if_generation=0
rm force.policy.sig
ctl put "$keys/signature/$digest" 'ncclbpf-signature x' >/dev/null
refused "a damaged signature is refused" "damaged" policy use ./force.policy
ctl del "$keys/signature/$digest" >/dev/null
ctl put "$keys/request/bare" '{"line":"policy use force","images":[]}' >/dev/null
answered() { ctl get --print-value-only "$keys/reply/bare" >reply && [ -s reply ]; }
await answered
grep -q '"ok":false' reply && grep -q "without its image" reply
ok "a request without the image is refused" $?
status 0 "a signed policy is used" --fleet "$fleet" -J signed policy use ./size_aware.policy
status 0 "what processes hold is used by its name, since the store has its signature" \
	--fleet "$fleet" -J signed policy use size_aware

# The desired state
NCCLBPF_FLEET_SIGNERS=$T/signers run --fleet "$fleet" job set signed force.policy
[ "$rc" -eq 77 ] && grep -q "no signature" err
ok "job set of a shell that knows the list refuses it" $?
status 0 "one that does not know it stores it" --fleet "$fleet" job set signed force.policy
kill "$job"
wait "$job" 2>/dev/null
gone() { ! ctl get --prefix --keys-only $keys/site/ | grep -q site; }
await gone
start 90
noted() { run --fleet "$fleet" -o table job show signed && grep -q "has no signature" out err; }
await noted
ok "but the job does not start with it, and job show says why" $?
! held force
ok "no process holds it" $?
status 0 "a signed desired state" --fleet "$fleet" job set signed size_aware.policy
uses() { fleet -o tsv comm list && [ "$(grep -c size_aware out)" -eq 4 ]; }
await uses
ok "is what the job starts with, also on the site that had refused the other" $?

# A key that is removed from the list counts no more
cat mallory.pub >signers
fleet policy use none
fleet policy undo
[ "$rc" -ne 0 ] && grep -q "names no policy" err && grep -q "policy use NAME" err &&
	! uses
ok "policy undo, which would return to its policy unchecked, is refused with a hint" $?
fleet policy use ./size_aware.policy
[ "$rc" -ne 0 ] && grep -q "not in the list" err
ok "a key that was removed from the list counts no more" $?
: >signers
fleet policy use ./size_aware.policy
[ "$rc" -ne 0 ] && grep -q "not in the list" err
ok "an empty list accepts nothing" $?
rm signers
fleet policy use ./size_aware.policy
[ "$rc" -ne 0 ] && grep -q "signers" err
ok "nor does a list that is missing" $?
fleet policy use none
ok "policy use none needs no signature" "$rc"
