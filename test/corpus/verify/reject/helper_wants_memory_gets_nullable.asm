# SPDX-License-Identifier: MIT
# expect: reject arg_null 9
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @seen
call 1
# near: jeq %r0, 0, out
mov %r2, %r0
lddw map %r1, @counts
call 1
# near: out:
mov %r0, 0
exit
