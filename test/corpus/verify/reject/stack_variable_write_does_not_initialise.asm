# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 5
ldxdw %r1, [%r1+8]
and %r1, 7
# near: stdw [%r10-8], 0
mov %r2, %r10
add %r2, %r1
stb [%r2-8], 7
ldxdw %r0, [%r10-8]
exit
