# SPDX-License-Identifier: MIT
# expect: reject release_null 8
reserve 16
jne %r0, 0, ok
mov %r1, %r0
mov %r2, 0
call 132 # near:
ja out
ok:
submit %r0
