# SPDX-License-Identifier: MIT
# golden
# expect: reject map_kind 4
lddw map %r1, @counts # near: lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
# near: jeq %r0, 0, out
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
# near: out:
mov %r0, 0
exit
