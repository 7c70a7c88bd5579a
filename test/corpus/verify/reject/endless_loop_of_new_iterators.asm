# SPDX-License-Identifier: MIT
# Each iteration takes a number, but of another iterator: nothing ends it.
# expect: reject endless_loop 0
again:
# near: may_goto out
iter_new -8, 0, 10
iter_next -8
iter_end -8
ja again
# near: out:
# near: mov %r0, 0
# near: exit
