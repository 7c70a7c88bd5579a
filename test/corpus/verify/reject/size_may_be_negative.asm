# SPDX-License-Identifier: MIT
# golden
# expect: reject arg_size 5
ldxdw %r2, [%r1+8]
stdw [%r10-8], 0x6869
mov %r1, %r10
add %r1, -8
jsgt %r2, 8, out # near: jne %r2, 8, out
call 6
