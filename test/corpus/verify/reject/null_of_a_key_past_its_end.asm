# SPDX-License-Identifier: MIT
# expect: reject not_pointer 13
lddw map %r1, @seen
for_each cb
mov %r0, 0
exit
cb:
add %r2, 16 # near: add %r2, 8
jne %r2, 0, out
lddw %r1, 0x1000
stdw [%r1], 42
