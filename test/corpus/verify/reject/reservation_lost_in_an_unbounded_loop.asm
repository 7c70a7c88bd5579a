# SPDX-License-Identifier: MIT
# golden
# expect: reject references 5
again:
may_goto out
reserve 16
# near: jeq %r0, 0, again
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
ja again
