# SPDX-License-Identifier: MIT
# expect: reject arg_null 7
# opts: held
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
mov %r1, %r0
call 93 # near:
mov %r0, 0
exit
