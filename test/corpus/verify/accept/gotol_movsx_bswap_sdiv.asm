# SPDX-License-Identifier: MIT
# expect: accept
ldxdw %r0, [%r1+8]
ja32 +0
movsx1664 %r0, %r0
bswap32 %r0
sdiv %r0, 3
exit
