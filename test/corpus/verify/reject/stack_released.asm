# SPDX-License-Identifier: MIT
# expect: reject release_other 4
stdw [%r10-8], 0
mov %r1, %r10
add %r1, -8
mov %r2, 0
call 133 # near:
mov %r0, 0
exit
