# SPDX-License-Identifier: MIT
# expect: reject helper_unknown 5
mov %r1, %r10
mov %r2, 8
mov %r3, 0
add %r1, -8
stdw [%r10-8], 0
call 4 # near: call 5
mov %r0, 0
exit
