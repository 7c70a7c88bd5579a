---@meta ncclbpf
-- SPDX-License-Identifier: MIT
-- Types of the Lua interface for editors (LuaCATS), and what the reference page
-- is made of. Between the marks `make docs` puts what the tables know: fields of
-- the context, and each command under its words.

---A function that fails in an expected way returns `nil, err`. `tostring(err)` is the shell's text.
---@class ncclbpf.error
---@field code string a stable word, as "not_found"
---@field message string what was found and what was wanted
---@field hint? string what to do
---@field where? {file: string, line: integer, col: integer} place in a file
---@field finding? table the verifier's finding

---@class nb
---@field version string
---@field null any JSON's null
---@field target ncclbpf.target in the shell: what attach chose, else the only job
local nb = {}

---List the processes with NCCL, and the reason if a process cannot be attached to.
---@return {state: string, job: string?, job_rank: integer?, pid: integer, socket: string?, reason: string?, hint: string?}[]
function nb.list() end

---Attach to a job, a process or a socket.
---@param options {pid?: integer, job?: string, socket?: string, ranks?: integer[], timeout?: number}
---@return ncclbpf.target? target
---@return ncclbpf.error? err
function nb.attach(options) end

---Make a policy image of an object, a table or an image.
---@param options {path: string, name?: string}
---@return string? image
---@return table|ncclbpf.error facts
function nb.build(options) end

---Verify a policy file as a job would.
---@param options {path: string, coherence_off?: boolean}
---@return {accepted: boolean, programs: table[]}? verdict
---@return ncclbpf.error? err
function nb.verify(options) end

---List the instructions with source lines.
---@param options {path: string}
---@return {name: string, digest: string, programs: table[]}? dump
---@return ncclbpf.error? err
function nb.disassemble(options) end

---Run a command line as the shell does.
---@param line string
---@param options? {format?: string}
---@return string? text
---@return integer|ncclbpf.error status
function nb.run(line, options) end

---Convert a size such as "4M", "1.5GiB" or "512" to bytes.
---@param text string
---@return integer? bytes
function nb.size(text) end

---Convert a duration such as "200ms", "2" or "1.5m" to seconds.
---@param text string
---@return number? seconds
function nb.duration(text) end

---Get the time as text, in UTC.
---@return string
function nb.time() end

---Get the seconds of a clock that never goes back.
---@return number
function nb.mono() end

---@param seconds number
function nb.sleep(seconds) end

---JSON with exact 64-bit integers.
---@class nb.json
nb.json = {}

---@param value any
---@return string
function nb.json.encode(value) end

---@param text string
---@return any value
---@return ncclbpf.error? err
function nb.json.decode(text) end

---Mark a table as a list, so that JSON shows it as [] even if it is empty.
---@param list table
---@return table
function nb.json.array(list) end

---Compare times b with times a by a rank-sum test on medians of blocks.
---@param options {a: number[], b: number[], block?: integer, confidence?: number, min_effect_pct?: number, least?: integer}
---@return ncclbpf.judgement? judgement
---@return ncclbpf.error? err
function nb.judge(options) end

---Plan a rollout with nb.rollout{target=, ...fields of a plan...} or nb.rollout "plan.lua".
---nb.rollout() returns the job's rollout. Like target:rollout.
---@class nb.rollout
---@overload fun(plan?: table|string): ncclbpf.rollout?, ncclbpf.error?
nb.rollout = {}

---@class ncclbpf.judgement
---@field verdict "pass"|"fail"|"inconclusive"
---@field reason string
---@field effect_pct? number how much longer b takes
---@field low_pct? number begin of its interval
---@field high_pct? number end of its interval
---@field p? number two-sided
---@field better? boolean b is surely shorter
---@field blocks_a integer
---@field blocks_b integer
---@field block integer samples of a block

---Find the best decision table, from a job's own traffic or from measurement files (docs/sweep.md).
---@class nb.sweep
---@overload fun(plan: ncclbpf.sweep_plan): ncclbpf.sweep?, ncclbpf.error?
nb.sweep = {}

---@class ncclbpf.sweep_plan
---@field target? ncclbpf.target
---@field data? table
---@field baseline? string
---@field scope? table
---@field algos? string[]
---@field protos? string[]
---@field channels? integer[]
---@field rounds? integer
---@field samples? integer
---@field confidence? number
---@field min_effect_pct? number
---@field hysteresis_pct? number
---@field progress? fun(round: integer, blocks: integer)

---@class ncclbpf.sweep
---@field rows table[] a row for each class: coll, bytes_from, bytes_to, verdict, answer, effect_pct, low_pct, high_pct, blocks_a, blocks_b, reason
---@field table ncclbpf.row[] the rows of the decision table
---@field csv string the table as NVIDIA's tuner CSV; comments give the certainty of each row
---@field policy? ncclbpf.made the table as a policy; nil if the table has no row
---@field state? "done"|"stopped"|"interrupted"|"left" the end of a sweep on a job; nil for files
---@field restored? boolean the job has its baseline again

---Read a file of NVIDIA's Inspector (a line of JSON for each collective and rank) as a series. The
---second value is a warning about ignored lines.
---@param options {file: string}
---@return ncclbpf.series? series
---@return string|ncclbpf.error? warning
function nb.series(options) end

---@class nb.policy
nb.policy = {}

---One row of a decision table. An omitted condition matches any value.
---An omitted answer keeps NCCL's choice.
---@class ncclbpf.row
---@field coll? string
---@field bytes? string|integer|{[1]: integer|string, [2]: integer|string} "4M..32M", "4M..", {4096, 8191}
---@field min_bytes? integer|string
---@field max_bytes? integer|string
---@field bytes_per_rank? string|integer needs ranks
---@field algo? string
---@field proto? string
---@field channels? integer 1 to 64
---@field nodes? integer
---@field ranks? integer
---@field pipe_ops? integer
---@field reg_buff? integer

---Make a policy of a decision table. Options beside the rows: name, hidden="keep", coherence="off".
---@param rows ncclbpf.row[]
---@return ncclbpf.made? policy
---@return ncclbpf.error? err
function nb.policy.table(rows) end

---Compile a policy from CSV: NVIDIA's columns in order, or columns named by a header line.
---@param options {path?: string, text?: string, name?: string, hidden?: "keep"|"error", coherence?: "off"|"strict"}
---@return ncclbpf.made? policy
---@return ncclbpf.error? err
function nb.policy.csv(options) end

---Restrict a policy to some collectives and sizes. Elsewhere the previous policy's answer stands.
---@param policy ncclbpf.made|string one that was made here, or a file
---@param rows {coll: string, bytes?: string, comm?: string}[]
---@param options? {name?: string}
---@return ncclbpf.made? policy
---@return ncclbpf.error? err
function nb.policy.within(policy, rows, options) end

---A policy that a function of nb.policy has made.
---@class ncclbpf.made
local made = {}

---Get the bytes of the policy's image.
---@return string
function made:image() end

---@return string
function made:name() end

---Get the bytes of an object file that libbpf opens.
---@return string? bytes
---@return ncclbpf.error? err
function made:object() end

---Get the rows of a table's policy in the form of NVIDIA's tuner file.
---@return string? text
---@return integer|ncclbpf.error rows
function made:csv() end

---@return {name: string, digest: string, size: integer, maps: table[], programs: table[]}
function made:info() end

---@return {accepted: boolean, programs: table[]}? verdict
---@return ncclbpf.error? err
function made:verify() end

---Run the policy in this process. Answers are numbers; -1 and 0 mean no opinion.
---@param contexts table a context, or a list of them; words and sizes may stand for numbers
---@param maps? table<string, table<integer, integer>> elements of its maps
---@return table? answers
---@return ncclbpf.error? err
function made:run(contexts, maps) end

---Write an object if the path ends with .o, and otherwise an image.
---@param path string
---@return true? ok
---@return ncclbpf.error? err
function made:save(path) end

---The attached processes of a job. Reading asks the lowest rank. A change reaches all processes or
---none.
---@class ncclbpf.target
local target = {}

---@return table? status
---@return ncclbpf.error? err
function target:status() end

---@return table[]? checks
---@return ncclbpf.error? err
function target:doctor() end

---@return ncclbpf.policy[]? policies
---@return ncclbpf.error? err
function target:policies() end

---@return table[]? maps
---@return ncclbpf.error? err
function target:maps() end

---@return ncclbpf.comm[]? comms
---@return ncclbpf.error? err
function target:comms() end

---Get one communicator. Its field table has the decisions by collective, size and answer.
---@param id string
---@return ncclbpf.comm? comm
---@return ncclbpf.error? err
function target:comm(id) end

---@param name string
---@return ncclbpf.map? map
---@return ncclbpf.error? err
function target:map(name) end

---Get a policy of the job. Its field vars has the variables.
---@param name string
---@return ncclbpf.policy? policy
---@return ncclbpf.error? err
function target:policy(name) end

---@param options {path?: string, policy?: ncclbpf.made, name?: string}
---@return ncclbpf.policy? policy
---@return ncclbpf.error? err
function target:policy_load(options) end

---@param name string
---@return table? policy
---@return ncclbpf.error? err
function target:policy_unload(name) end

---Use these policies, in this order, at a fence. In a table, `comm` names the communicators.
---@param ... string | {[integer]: string, comm?: string|string[], if_generation?: integer}
---@return table? change
---@return ncclbpf.error? err
function target:policy_use(...) end

---@param name string
---@param place? {before?: string, position?: "first"|"last", comm?: string|string[]}
---@return table? change
---@return ncclbpf.error? err
function target:policy_add(name, place) end

---@param name string
---@param place {before?: string, position?: "first"|"last", comm?: string|string[]}
---@return table? change
---@return ncclbpf.error? err
function target:policy_move(name, place) end

---@param name string
---@param options? {comm?: string|string[]}
---@return table? change
---@return ncclbpf.error? err
function target:policy_remove(name, options) end

---Return to the previous generation, or to one of the last 16.
---@param options? {to?: integer, if_generation?: integer}
---@return table? change
---@return ncclbpf.error? err
function target:undo(options) end

---List the last generations, newest first.
---@return {generation: integer, digest: string, policies: string[], time: string, uid: integer, pid: integer, kept: boolean}[]? history
---@return ncclbpf.error? err
function target:history() end

---List the GIN peers of all processes, as the command gin does. With contexts=true, list the
---peers of each context apart.
---@param options? {contexts?: boolean, comm?: string}
---@return {site: string?, pid: integer, rank: integer?, coll: integer, comm_rank: integer, peer: integer, puts: integer, signals: integer, bytes: integer, put_p50_ns: integer?, put_p99_ns: integer?}[]? rows
---@return ncclbpf.error? err
function target:gin(options) end

---Send a request line that changes the job, and commit it in all processes.
---@param line string
---@return table? change
---@return ncclbpf.error? err
function target:change(line) end

---@param collective string
---@param bytes integer|string
---@param options? {comm?: string}
---@return table? explanation
---@return ncclbpf.error? err
function target:explain(collective, bytes, options) end

---Get the last decisions, oldest first. With follow, call that function for each new decision until
---it returns true.
---@param options? {count?: integer, comm?: string, follow?: fun(decision: ncclbpf.decision, rank: integer): boolean?}
---@return ncclbpf.decision[]? decisions
---@return ncclbpf.error? err
function target:decisions(options) end

---Make a series of the times of collectives. The first sample begins the series now, or when all
---ranks have passed the fence of the last change. With history, the series begins with the oldest
---recorded collectives, 1,024 of each rank.
---@param options? {comm?: string, collectives?: string[], sizes?: string, history?: boolean}
---@return ncclbpf.series series
function target:series(options) end

---Plan a rollout from a plan's fields or its file, without starting it. Without a plan, get the
---job's rollout.
---@param plan? table|string
---@return ncclbpf.rollout? rollout
---@return ncclbpf.error? err
function target:rollout(plan) end

---@param options? {count?: integer, follow?: fun(line: table, rank: integer): boolean?}
---@return table[]? lines
---@return ncclbpf.error? err
function target:trace(options) end

---Send a request line to every process.
---@param line string
---@return {rank: integer, pid: integer, data: any, err: ncclbpf.error?}[]? answers
---@return ncclbpf.error? err
function target:request(line) end

---@return table[]? processes
---@return ncclbpf.error? err
function target:processes() end

function target:close() end

---A policy of the job. The object has the fields of the reply that made it (`policy list` of
---docs/protocol.md).
---@class ncclbpf.policy
---@field name string
---@field digest string
---@field size integer bytes of its image
---@field source "env"|"shell"
---@field in_use boolean
---@field position? integer from 0 on, among those that communicators in no scope have
---@field comms string[] communicators that have it by a scope
---@field maps string[]
---@field programs {name: string, section: string, hook: string, insns: integer, engine: string?, runs: integer, overrides: integer, refused: integer}[]
---@field verify {insns_walked: integer, states_peak: integer, stack_bytes: integer, time_us: number}
---@field vars table<string, any> its variables: policy.vars.counter, policy.vars["limits[2].bytes"] = 5
local policy = {}

---Update the fields from the job.
---@return ncclbpf.policy? policy
---@return ncclbpf.error? err
function policy:refresh() end

---Make it the only policy in use, from a fence on.
---@param options? {comm?: string|string[], if_generation?: integer}
---@return table? change
---@return ncclbpf.error? err
function policy:use(options) end

---Add it to the policies in use.
---@param place? {before?: string, position?: "first"|"last", comm?: string|string[]}
---@return table? change
---@return ncclbpf.error? err
function policy:add(place) end

---@param place {before?: string, position?: "first"|"last", comm?: string|string[]}
---@return table? change
---@return ncclbpf.error? err
function policy:move(place) end

---Remove it from the policies in use.
---@param options? {comm?: string|string[]}
---@return table? change
---@return ncclbpf.error? err
function policy:remove(options) end

---Unload it from the job.
---@return table? policy
---@return ncclbpf.error? err
function policy:unload() end

---Get the bytes of its image from the job.
---@return string? bytes
---@return ncclbpf.error? err
function policy:image() end

---Verify it in this process.
---@param options? {coherence_off?: boolean}
---@return {accepted: boolean, programs: table[]}? verdict
---@return ncclbpf.error? err
function policy:verdict(options) end

---List the instructions with source lines.
---@return {name: string, digest: string, programs: table[]}? dump
---@return ncclbpf.error? err
function policy:dump() end

---A communicator. The object has the fields of the reply that made it (`comm list` of
---docs/protocol.md).
---@class ncclbpf.comm
---@field comm string identity
---@field ranks integer
---@field local_ranks integer
---@field nodes integer
---@field decisions integer how many
---@field generation integer
---@field policies string[]
---@field changeable boolean
---@field why? string why not
---@field table? table[] decisions by collective, size and answer; of target:comm and refresh
local comm = {}

---Update the fields from the job.
---@return ncclbpf.comm? comm
---@return ncclbpf.error? err
function comm:refresh() end

---Get its last decisions, as target:decisions does.
---@param options? {count?: integer, follow?: fun(decision: ncclbpf.decision, rank: integer): boolean?}
---@return ncclbpf.decision[]? decisions
---@return ncclbpf.error? err
function comm:tail(options) end

---Get its telemetry: rows of `stats` (docs/protocol.md).
---@return table[]? rows
---@return ncclbpf.error? err
function comm:stats() end

---@param collective string
---@param bytes integer|string
---@return table? explanation
---@return ncclbpf.error? err
function comm:explain(collective, bytes) end

---Compare the decisions of its ranks.
---@return {agree: boolean, comms: table[]}? agreement
---@return ncclbpf.error? err
function comm:agreement() end

---Give this communicator its own policies. "none": no policy. "common": the policies of the other
---communicators.
---@param ... string | {[integer]: string, if_generation?: integer}
---@return table? change
---@return ncclbpf.error? err
function comm:use(...) end

---@param options? {collectives?: string[], sizes?: string, history?: boolean}
---@return ncclbpf.series series
function comm:series(options) end

---A decision (`decision tail` of docs/protocol.md).
---@class ncclbpf.decision
---@field comm string
---@field seq integer
---@field coll string
---@field bytes integer
---@field nccl {algo: string, proto: string} what NCCL would have
---@field answer {algo: string, proto: string, channels: integer}
---@field by? string the policy that had the last word
---@field generation integer
---@field context table what policies saw
---@field costs_us? number[]
local decision = {}

---Explain the present decision for such a collective.
---@return table? explanation
---@return ncclbpf.error? err
function decision:explain() end

---Does the answer differ from NCCL's own choice?
---@return boolean
function decision:changed() end

---Times of a job's collectives, the slowest rank's, by kind ("allreduce 4M of COMM"). `#series`
---is how many there are,
---pairs(series) gives kinds with lists of nanoseconds. The last 200,000 are kept.
---@class ncclbpf.series
local series = {}

---Add the collectives since the last sample. The first sample adds nothing. Telemetry must be on.
---@return integer? new
---@return ncclbpf.error? err
function series:sample() end

---Sample until the time is over, count collectives have come, or stop(series) returns true.
---@param options {seconds?: number, count?: integer, stop?: (fun(series: ncclbpf.series): boolean?), every?: number}
---@return ncclbpf.series? series
---@return ncclbpf.error? err
function series:watch(options) end

---@return string[]
function series:kinds() end

---Get the times in seconds, oldest first, of one kind or of all kinds.
---@param kind? string
---@return number[]? times
---@return ncclbpf.error? err
function series:times(kind) end

---Get the count and the quantiles in seconds of each kind.
---@param quantiles? number[] 0 to 1; {0.5, 0.9, 0.99}
---@return table<string, table>
function series:quantiles(quantiles) end

---Get the rates between the first and the last sample. The result is empty before two samples.
---@return table<string, {per_second: number, bytes_per_second: number, busbw_gbs: number}>
function series:rates() end

---Compare with another series: how much longer its times are, for kinds that both have.
---@param other ncclbpf.series
---@param options? {confidence?: number, min_effect_pct?: number, block?: integer}
---@return table<string, ncclbpf.judgement>
function series:compare(other, options) end

---@return {time: string, new: integer}[]
function series:samples() end

---A line each time.
---@param path string
---@return integer? lines
---@return ncclbpf.error? err
function series:csv(path) end

---Drop all times. Collectives already seen do not count again.
function series:clear() end

---A rollout of a job (docs/rollouts.md). Each method updates its fields.
---@class ncclbpf.rollout
---@field name string
---@field id? string
---@field job? string
---@field state string planned, preparing, progressing, paused, promoting, succeeded, aborting, rolled_back or failed
---@field reason? string why it is in this state
---@field running boolean by another process
---@field blocks integer how many there are
---@field of integer of how many
---@field baseline? string[]
---@field candidate? string[]
---@field verdict? table of the last look: verdict, reason, strata by kind
---@field file? string where all of it is kept
local rollout = {}

---Get the plan with every field.
---@return table
function rollout:plan() end

---Describe the plan's steps as a list of {what, how}.
---@return string[][]
function rollout:steps() end

---Start: load the candidate, enable telemetry and write the file. Call step or wait next.
---@return ncclbpf.rollout? rollout
---@return ncclbpf.error? err
function rollout:start() end

---Run one block. If the rollout has ended or paused, do nothing.
---@return ncclbpf.rollout? rollout
---@return ncclbpf.error? err
function rollout:step() end

---Run blocks until the rollout has ended or paused, or the number of blocks is reached.
---@param options? {progress?: fun(rollout: ncclbpf.rollout), blocks?: integer}
---@return ncclbpf.rollout? rollout
---@return ncclbpf.error? err
function rollout:wait(options) end

---Return to the baseline until resume. If another process runs the rollout, send it a request. Then
---the second value is true.
---@return ncclbpf.rollout? rollout
---@return true|ncclbpf.error? asked
function rollout:pause() end

---Take the rollout over with its blocks. Call step or wait next.
---@return ncclbpf.rollout? rollout
---@return ncclbpf.error? err
function rollout:resume() end

---Use the candidate from now on, whatever the verdict.
---@return ncclbpf.rollout? rollout
---@return true|ncclbpf.error? asked
function rollout:promote() end

---Return to the baseline and end the rollout.
---@return ncclbpf.rollout? rollout
---@return true|ncclbpf.error? asked
function rollout:abort() end

---Return to the baseline after a promotion.
---@return ncclbpf.rollout? rollout
---@return ncclbpf.error? err
function rollout:undo() end

---Update the fields from the job.
---@return ncclbpf.rollout? rollout
---@return ncclbpf.error? err
function rollout:refresh() end

---Get the table of `rollout status -o json`.
---@return table? status
---@return ncclbpf.error? err
function rollout:status() end

---List every change of the state, with its reason and evidence.
---@return {time: string, rollout: string, from: string, to: string, actor: string, reason: string, evidence: table?}[]? events
---@return ncclbpf.error? err
function rollout:history() end

---Write a report as one HTML file, with every time as CSV beside it.
---@param path string
---@param options? {label?: string} label: a note at the top
---@return {file: string, bytes: integer, csv: string?, samples: integer}? report
---@return ncclbpf.error? err
function rollout:report(path, options) end

---A map of the job. m[key], m[key] = value, m[key] = nil and pairs(m) raise an error if they fail;
---the methods return nil, err.
---@class ncclbpf.map
---@field [any] any
local map = {}

---@param key any
---@return any value
---@return ncclbpf.error? err
function map:get(key) end

---@param key any
---@param value any
---@param options? {flags?: "any"|"new"|"old"}
---@return table? change
---@return ncclbpf.error? err
function map:set(key, value, options) end

---@param key any
---@return table? change
---@return ncclbpf.error? err
function map:remove(key) end

---@param keys any[]
---@return {key: any, value: any}[]? entries
---@return ncclbpf.error? err
function map:get_all(keys) end

---Change several elements at once. In a coherent map all change at one fence, or none does.
---@param values table
---@param options? {remove?: any[], flags?: "any"|"new"|"old"}
---@return table? change
---@return ncclbpf.error? err
function map:update(values, options) end

---Remove and return the next record of a ring buffer.
---@param options? {count?: integer, as?: string, follow?: fun(value: any, rank: integer, dropped: integer): boolean?}
---@return any value
---@return ncclbpf.error? err
function map:pop(options) end

---Iterate over the present values and remove each of them.
---@param options? {as?: string}
---@return fun(): any
function map:take(options) end

---@param options? {limit?: integer, all?: boolean}
---@return table[]? entries
---@return ncclbpf.error? err
function map:entries(options) end

---@return table? definition
---@return ncclbpf.error? err
function map:info() end

-- <generated>
-- </generated>

return nb
