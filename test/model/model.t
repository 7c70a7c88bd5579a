#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 900  needs: spin
# The fence protocol's models, of one site (fence.pml) and of several (fleet.pml):
# as built no two ranks disagree and nobody waits for ever; with any one of its
# parts left out spin finds ranks that disagree.
set -u
if ! command -v spin >/dev/null; then
	echo "1..1"
	echo "1..0 # SKIP the fence protocol's model: spin is not installed"
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 model=fence fast=-O1 small=

# holds|breaks|waits|ends|cycles NAME OPTIONS...: check the model built with
# OPTIONS; waits: somebody waits for ever;
# ends and cycles for cycles without progress. An option -DREVERSE is spin's: the other
# order of processes, where that finds the error sooner.
check() {
	want=$1 name=$2
	shift 2
	n=$((n + 1))
	case $want in
	ends | cycles) kind=-DNP loops=-l ;;
	breaks) kind=-DSAFETY loops=-E ;; # whoever waits for ever is not asked
	*) kind=-DSAFETY loops= ;;
	esac
	case " $* " in *" -DREVERSE "*) back=-DREVERSE ;; *) back= ;; esac
	d=$dir/$n
	mkdir "$d"
	(cd "$d" && cpp -P "$@" "$TOP/test/model/$model.pml" >model.pml &&
		spin -a model.pml >spin.log 2>&1 &&
		cc $fast -w $kind $small $back -DMEMLIM=1500 -o pan pan.c &&
		./pan $loops -m200000 >pan.log 2>&1)
	errors=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' "$d/pan.log" 2>/dev/null)
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$d/pan.log" 2>/dev/null)
	whole=1
	grep -q 'not completed\|MEMLIM\|max search depth too small\|out of memory' \
		"$d/pan.log" 2>/dev/null && whole=0
	case $want in
	holds | ends) [ "$errors" = 0 ] && [ $whole = 1 ] ;;
	breaks) grep -q 'assertion violated ((used' "$d/pan.log" ;;
	waits) grep -q 'invalid end state (at' "$d/pan.log" ;;
	cycles) grep -q 'non-progress cycle (at' "$d/pan.log" ;;
	esac
	if [ $? -eq 0 ]; then
		echo "ok $n - $name ($states states)"
	else
		echo "not ok $n - $name: errors ${errors:-none counted}"
		cat "$d/spin.log" "$d/pan.log" 2>/dev/null | grep -v '^Depth' |
			head -20 | sed 's/^/# /'
	fi
	rm -rf "$d"
}

# at_once ...: check ..., which is over so soon that it takes longer to compile it well
at_once() {
	fast=-O0
	check "$@"
	fast=-O1
}

# search NAME OPTIONS...: MODEL_SECONDS of a model too large for memory, with three bits a
# state
search() {
	name=$1
	shift
	n=$((n + 1))
	d=$dir/$n
	mkdir "$d"
	(cd "$d" && cpp -P "$@" "$TOP/test/model/fence.pml" >model.pml &&
		spin -a model.pml >spin.log 2>&1 &&
		cc -O2 -w -DSAFETY -DBITSTATE -o pan pan.c &&
		timeout -s INT "$MODEL_SECONDS" ./pan -w31 -k3 -m20000 \
			>pan.log 2>&1)
	if grep -q 'errors: 0$' "$d/pan.log"; then
		echo "ok $n - $name ($(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' \
			"$d/pan.log") states looked at)"
	else
		echo "not ok $n - $name"
		grep -v '^Depth' "$d/pan.log" | head -20 | sed 's/^/# /'
	fi
	rm -rf "$d"
}

check holds "two ranks agree through two changes, and one of them may die" -DDECISIONS=2
check holds "ranks agree if three changes come before one decision" -DCHANGES=3 -DDECISIONS=1
check holds "three ranks agree, and one of them may die" -DRANKS=3 -DDECISIONS=1 -DCHANGES=1
check holds "ranks agree with two coordinators" -DCOORDINATORS=2 -DCHANGES=1 -DDECISIONS=1
check holds "ranks agree if the second of two fences is committed" \
	-DTRIES=2 -DCHANGES=1 -DMARGIN=1 \
	-DDECISIONS=3
at_once holds "ranks agree if one of them gives up on the lock" -DLOST=1 -DCHANGES=2 -DDECISIONS=1 \
	-DDEATHS=0
check holds "ranks agree by numbers of calls, some of which are skipped" \
	-DCALLS -DCHANGES=1 -DONCE -DDEATHS=0
at_once holds "nothing changes in flight if NCCL asks some ranks only and there is no clock" \
	-DSOME \
	-DCHANGES=1
check holds "ranks that the profiler names agree, also if one of them lacks the name" \
	-DNAMED -DLOST=1 \
	-DDECISIONS=1
check ends "no rank or coordinator loops for ever, also if one dies" -DLOOKS_END -DCHANGES=1 \
	-DDECISIONS=2
check ends "none of three ranks loops for ever" \
	-DLOOKS_END -DRANKS=3 -DCHANGES=1 -DDECISIONS=1 -DDEATHS=0
at_once cycles "only the second look at the ranks repeats, and it has a deadline" -DCHANGES=1 \
	-DDECISIONS=2
# make check-soak
if [ "${MODEL_SECONDS:-0}" -gt 0 ]; then
	small=-DCOLLAPSE
	check holds "two ranks agree on three decisions and two changes, and one may die"
	check holds "three ranks agree on two decisions and a change" \
		-DRANKS=3 -DDECISIONS=2 -DDEATHS=0 \
		-DCHANGES=1
	check holds "ranks agree on two decisions with two coordinators" \
		-DCOORDINATORS=2 -DCHANGES=1 -DDECISIONS=2
	check ends "none of three ranks loops for ever, also if one dies" -DLOOKS_END -DRANKS=3 \
		-DCHANGES=1 -DDECISIONS=1
	check holds "ranks agree by numbers of calls, skipped or repeated, and one may die" \
		-DCALLS -DCHANGES=1
	check holds "ranks that the profiler names agree on two decisions" -DNAMED -DDECISIONS=2 \
		-DDEATHS=0
	# not the whole space, by far
	search "four ranks agree with two coordinators, and one may die" -DRANKS=4 \
		-DDECISIONS=2 -DCOORDINATORS=2 -DCHANGES=1
	search "three ranks, one of them lost, agree with two coordinators" -DRANKS=3 \
		-DDECISIONS=2 -DCOORDINATORS=2 -DCHANGES=1 -DLOST=1
	small=
fi
at_once breaks "without the membarrier ranks disagree" -DNO_BARRIER
at_once breaks "the coordinator does not look at the ranks a second time" -DNO_LOOK_AGAIN
at_once breaks "a record has no fallback" -DREVERSE -DNO_FALLBACK -DDECISIONS=2
at_once breaks "an announced fence counts as passed" -DREVERSE -DANNOUNCED_IS_PASSED -DDECISIONS=2
at_once breaks "the coordinator decides without a compare-and-swap" -DNO_CAS
at_once breaks "the mark of a wait is read last" -DMARK_LAST
at_once breaks "a generation is adopted, then looked up" -DADOPT_FIRST -DCHANGES=3 -DDECISIONS=1 \
	-DDEATHS=0
at_once breaks "a rank at the fence counts as below it" -DLATE_IS_BELOW
at_once breaks "decisions of dead ranks do not count" -DDEAD_DO_NOT_COUNT
at_once breaks "a rank that has passed the fence still claims to wait there" -DCALLS \
	-DSAYS_ANYWAY -DCHANGES=1 -DDEATHS=0
at_once breaks "a rank looks for its generation only when it is asked" -DREVERSE -DCALLS \
	-DREPLICATED -DCHANGES=1 -DONCE -DDEATHS=0
at_once breaks "decisions are counted although NCCL asks some ranks only" -DSOME -DCOUNTS_ANYWAY \
	-DCHANGES=1 -DDEATHS=0
at_once breaks "nobody counts the ranks before the first decision" -DLOST=1 -DNO_COUNT
named="-DNAMED -DLOST=1 -DCHANGES=1 -DDECISIONS=1 -DDEATHS=0"
# shellcheck disable=SC2086 # several options
for part in "ONE_FOR_ALL the profiler's init names what any thread's tuner inits next" \
	"NAME_STAYS a name is taken twice" \
	"STARTS_CHANGED a named rank starts with what the job has" \
	"SOME_REGISTERED ranks change that some cannot follow"; do
	at_once breaks "${part#* }" $named "-D${part%% *}"
done

# several sites
model=fleet
check holds "two sites agree through a change" -DDECISIONS=1 -DDEATHS=0
check holds "two sites agree if an agent, with or without its keys, or the coordinator dies" \
	-DDECISIONS=1 -DLEASES=1 -DORDERED
check holds "sites agree if one is cut off from the store" \
	-DDECISIONS=1 -DDEATHS=0 -DCUTS=1 -DORDERED
check holds "two sites agree since when they have a generation, which replicated maps need" \
	-DDECISIONS=2 -DDEATHS=0 -DORDERED
at_once holds "sites agree if the store goes back to a backup" -DDECISIONS=1 -DDEATHS=0 -DRESTORE=1
# make check-soak
if [ "${MODEL_SECONDS:-0}" -gt 0 ]; then
	small=-DCOLLAPSE
	check holds "two sites agree if an agent or the coordinator dies and stores are seen late" \
		-DDECISIONS=1 -DLEASES=1
	check holds "sites agree if one is cut off from the store and stores are seen late" \
		-DDECISIONS=1 -DDEATHS=0 -DCUTS=1
	small=
fi
for part in "NO_BARRIER the agent's membarrier" "SEEN_EARLY reading ranks after writing the copy" \
	"NO_COMPARE comparing the record's revision" "OLD_ANSWER answers for this very revision" \
	"ONE_SITE the answers of all sites" "RANK_GUESSES waiting for the outcome" \
	"LATE_IS_BELOW a second look at a rank at the fence"; do
	at_once breaks "sites: without ${part#* }" -DDECISIONS=1 -DDEATHS=0 "-D${part%% *}"
done
check breaks "sites: without reading the mark first" -DDECISIONS=2 -DDEATHS=0 \
	-DORDERED -DMARK_LAST
at_once breaks "sites: a rank's first call is not counted" -DDECISIONS=2 -DDEATHS=0 \
	-DORDERED -DUNSEEN_FIRST
at_once waits "sites: an agent that was stopped goes on beside its successor" \
	-DDECISIONS=1 -DORDERED -DTWO_AGENTS
at_once breaks "sites: a new agent writes before it has read the store" -DDECISIONS=1 \
	-DORDERED -DBLIND_START
check breaks "sites: one whose keys are gone is not waited for" -DDECISIONS=1 \
	-DLEASES=1 -DREVERSE -DORDERED -DKEYS_ALONE
at_once breaks "sites: a copy follows a store that goes back" -DDECISIONS=1 -DDEATHS=0 \
	-DRESTORE=1 -DCOPY_BACK
at_once breaks "sites: an armed copy trusts a store that has gone back" -DDECISIONS=1 -DDEATHS=0 \
	-DRESTORE=1 -DNO_SUSPECT
at_once breaks "sites: one that knows no outcome of a lost arming rolls it back" \
	-DDECISIONS=1 -DDEATHS=0 -DRESTORE=1 -DOWN_ANSWER
at_once waits "sites: nobody writes a lost arming again" -DDECISIONS=1 -DDEATHS=0 -DRESTORE=1 \
	-DNO_ARMED_AGAIN
at_once waits "sites: nobody writes a lost outcome again" -DDECISIONS=1 -DDEATHS=0 -DRESTORE=1 \
	-DNO_AGAIN
echo "1..$n"
