# SPDX-License-Identifier: MIT
# expect: reject iterator 3
stdw [%r10-8], 0
mov %r1, %r10
add %r1, -8
call 0x10002
mov %r0, 0
exit
