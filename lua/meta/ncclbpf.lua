---@meta ncclbpf
-- SPDX-License-Identifier: MIT
-- Types of the Lua interface for editors (LuaCATS), and what the reference page
-- is made of. Between the marks `make docs` puts what the tables know: fields of
-- the context, and for each command a function of nb and a method of a job.

---A function that fails in an expected way returns `nil, err`. `tostring(err)` is the shell's text.
---@class ncclbpf.error
---@field code string a stable word, as "not_found"
---@field message string what was found and what was wanted
---@field hint? string what to do
---@field where? {file: string, line: integer, col: integer} place in a file
---@field finding? table the verifier's finding
---@field data? table what the command found in spite of the error

---@class nb
---@field version string
---@field null any JSON's null
local nb = {}

---Attach to a job. With a string, to the job of this name; without an option, to the only job.
---@param options? string|{job?: string, pid?: integer, socket?: string, fleet?: string, ranks?: integer[], timeout?: number}
---@return ncclbpf.job? job
---@return ncclbpf.error? err
function nb.attach(options) end

---Convert a size such as "4M", "1.5GiB" or "512" to bytes.
---@param text string
---@return integer? bytes
function nb.size(text) end

---Get the seconds of a clock that never goes back.
---@return number
function nb.mono() end

---Wait.
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
---@field channels? integer 1 to 128
---@field chunk_size? integer|string 4K to 1G
---@field nodes? integer
---@field ranks? integer
---@field pipe_ops? integer
---@field reg_buff? integer

---The processes that a job had when it was attached to.
---`local job <close>` detaches at the end of its block.
---@class ncclbpf.job
local job = {}

---Send a line of docs/protocol.md to every process.
---@param line string
---@return {rank: integer, pid: integer, site: string?, data: any, err: ncclbpf.error?}[]? answers
---@return ncclbpf.error? err
function job:request(line) end

-- <generated>
-- </generated>

return nb
