# SPDX-License-Identifier: MIT
# expect: reject lock_none 3
# opts: held
stdw [%r10-8], 0
mov %r1, %r10
add %r1, -8
call 93
mov %r0, 0
exit
