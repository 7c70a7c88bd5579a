# SPDX-License-Identifier: MIT
# expect: reject dynptr_none 6
# opts: held
stdw [%r10-16], 0
stdw [%r10-8], 0
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 8
call 203
mov %r0, 0
exit
