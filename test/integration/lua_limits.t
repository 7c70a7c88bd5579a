#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# What a script in the shell may not do: take memory without bound, load
# bytecode, start programs, load machine code, swallow a Ctrl-C.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1

ends 1 script_failed "a script whose memory grows without bound ends with an error" -e '
	local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i end
'
status 1 "one large string" -e 'return #("x"):rep(1 << 40)'
status 0 "what a script catches, it may go on after" -e 'print(pcall(string.rep, "x", 1 << 30))'
status 0 "16 MiB are fine" -e 'return #("x"):rep(16 << 20)'
/usr/bin/luac5.4 -o bytecode.luac - 2>/dev/null <<'END' || printf '\033Lua' >bytecode.luac
return 1
END
status 65 "bytecode is refused: -f" -f bytecode.luac
status 0 "bytecode is refused: load" -e 'assert(not load(string.dump(function() end)))'
status 0 "bytecode is refused: load with a mode that allows it" \
	-e 'assert(not load(string.dump(function() end), "x", "b"))'
status 0 "bytecode is refused: loadfile, dofile" -e '
	assert(not loadfile "bytecode.luac" and not pcall(dofile, "bytecode.luac"))
'
status 0 "no programs, no machine code" -e '
	assert(not os.execute and not io.popen and not package.loadlib)
'
status 1 "no C modules" -e 'package.cpath = "'"$B"'/lua/?.so" require "ncclbpf.nosuch"'
status 0 "--unsafe gives them" --unsafe -e 'assert(os.execute and io.popen and package.loadlib)'
status 0 "the hook of Ctrl-C stays the shell's" -e 'assert(not debug.sethook)'
timeout --preserve-status -s INT 0.5 "$S" -e '
	for i = 1, math.huge do pcall(function() for j = 1, math.huge do end end) end
' 2>"$T/err"
[ $? -eq 130 ]
ok "a swallowed Ctrl-C comes back" $?
timeout --preserve-status -s INT 0.5 "$S" -e 'while true do nb.list() end' 2>"$T/err"
[ $? -eq 130 ]
ok "also between commands" $?
status 1 "endless recursion" -e 'local function f() return 1 + f() end f()'
status 0 "the module is there without require" -e 'assert(nb == require "ncclbpf")'

# ---- clang, which scripts may run ----
echo 'int one;' >one.c
cp one.c ./-one.c
cat >flags.lua <<'E'
local core = require "ncclbpf.core"
local function flags(text)
	local t = {}
	for f in text:gmatch "%S+" do t[#t + 1] = f end
	return t
end
for text in ([[
-fplugin=./evil.so	-Xclang -load	-mllvm -load=./evil.so	-fpass-plugin=./evil.so
-fplugin-arg-x-y	-B. -fno-integrated-as	-fno-integrated-as	-no-integrated-as
-o stolen	-MD	-MF stolen	-save-temps	-gsplit-dwarf
-fprofile-generate	-ftime-trace
-fsave-optimization-record	-fmodules	-include-pch x	-Wp,-MD,stolen	-Wa,-x
-Wl,-x	-E	-S	--config ./x.cfg	@response	-I @response
-include @response	-include -c	-I	-D -o	-target x86_64	--target=x86_64
-target -o	-x assembler	-xassembler	other.c	-	--	-v
-specs=x	-ccc-gcc-name x	-wrapper x	-working-directory /	-fuse-ld=x
-Dx -fplugin=x
-I@response	-D@response	-U@response	-mcpu=@response	-ferror-limit=@response
]]):gmatch "[^\t\n]+" do
	local status, err = core.clang("one.c", flags(text))
	assert(not status and err.code == "not_permitted", text)
	assert(not core.stat "stolen", text)
end
for text in ([[
-I.	-I .	-DA=1,2	-D A	-UA	-U A	-std=c11	-O2	-O	-g	-g0
-gdwarf-5	-Wall	-Wno-error=unused	-Werror	-w	-mcpu=v2
-target bpf	--target=bpfel	-xc	-x c	-isystem .	-include one.c
-fno-builtin	-funroll-loops	-fno-jump-tables	-ffreestanding
-ferror-limit=2	-fshort-enums	-fno-builtin-memcpy
-fmacro-prefix-map=a=b	-nostdinc	-pedantic
]]):gmatch "[^\t\n]+" do
	local status, object, messages = core.clang("one.c", flags(text))
	assert(status == 0 and object:sub(1, 4) == "\127ELF", text .. tostring(messages or object))
end
assert(core.clang("-one.c", {}) == 0)
for _, path in ipairs { "@one.c", "./@one.c", "d/@one.c" } do
	local status, err = core.clang(path, {})
	assert(not status and err.code == "not_supported", path)
end
E
status 0 "clang gets no flag that loads code, runs programs or writes files" -f flags.lua
