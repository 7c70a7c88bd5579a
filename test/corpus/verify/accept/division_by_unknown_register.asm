# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
ldxdw %r2, [%r0+8]
div %r1, %r2
mod %r1, %r2
sdiv %r1, %r2
smod32 %r1, %r2
