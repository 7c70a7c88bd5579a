# SPDX-License-Identifier: MIT
# golden
# expect: reject dynptr_memory 11
# opts: held
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
# near: jeq %r0, 0, out
mov %r1, %r0
mov %r2, 8
mov %r3, 0
mov %r4, %r10
add %r4, -24
call 197
# near: out:
mov %r0, 0
exit
