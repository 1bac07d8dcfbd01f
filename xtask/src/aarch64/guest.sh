# What runs in the virtual machine. It leaves in /out what the programs say, and judges nothing: `checks.rs` does.
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root OMP_NUM_THREADS=1
cd /out || exit 1
uname -r > kernel

echo "guest: the tests of the tracker"
(cd /checkout/alloc-tracker && exec /built/unit-tests) > tests.txt 2>&1

echo "guest: a program in C"
/built/alloc-tracker record -o /out/c.timeline.json -- /built/program > c.txt 2>&1
/built/viewer reconcile --json c.timeline.json > c.json 2>> c.txt

echo "guest: a program in Python"
/built/alloc-tracker record -o /out/python.timeline.json -- python3 /built/program.py > python.txt 2>&1
/built/viewer reconcile --json python.timeline.json > python.json 2>> python.txt
sync
