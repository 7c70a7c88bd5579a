# SPDX-License-Identifier: MIT
# Together they take no more iterations than a run has.
# expect: accept
mov %r6, %r1
mov %r7, 0
iter_new -8, 0, 4096
n1:
iter_next -8
jeq %r0, 0, e1
iter_new -16, 0, 4096
n2:
iter_next -16
jeq %r0, 0, e2
iter_new -24, 0, 4096
n3:
iter_next -24
jeq %r0, 0, e3
add %r7, 1
ja n3
e3:
iter_end -24
ja n2
e2:
iter_end -16
ja n1
e1:
iter_end -8
mov %r0, 0
exit
