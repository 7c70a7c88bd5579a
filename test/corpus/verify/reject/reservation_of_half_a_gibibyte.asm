# SPDX-License-Identifier: MIT
# reservation of half a gibibyte
# expect: reject reserve_size 4
lddw map %r1, @ring
mov %r2, 0x20000000 # near: mov %r2, 536870911
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r1, %r0
mov %r2, 0
call 133
out:
mov %r0, 0
exit
