# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxw %r1, [%r0]
mod %r1, 63
stxh [%r10-8], %r1
sth [%r10-6], -1
ldxh %r3, [%r10-8]
add %r0, %r3
ldxb %r2, [%r0]
