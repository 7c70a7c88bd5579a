# SPDX-License-Identifier: MIT
# golden
# expect: reject map_kind 3
mov %r3, 0
lddw map %r2, @counts # near: lddw map %r2, @jumps
call 12
mov %r0, 0
exit
