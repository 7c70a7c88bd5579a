# SPDX-License-Identifier: MIT
# twin of cve_2021_4204: moved to and fro, it is the start again
# expect: accept
reserve 16
jeq %r0, 0, out
mov %r1, %r0
add %r1, 1
add %r1, -1
mov %r2, 0
call 132
