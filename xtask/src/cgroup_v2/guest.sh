# What runs in the virtual machine, as root, in a group of its own below one that hands the memory controller on. It leaves in
# /out what the programs say, and judges nothing: `checks.rs` does.
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root OMP_NUM_THREADS=1
. /out/programs
root=/sys/fs/cgroup
cd /out || exit 1
uname -r > kernel
echo +memory > $root/cgroup.subtree_control
mkdir -p $root/jobs/own
echo +memory > $root/jobs/cgroup.subtree_control
echo $$ > $root/jobs/own/cgroup.procs

echo "guest: a program that grows until its limit"
"$TRAINER" run-limited --memory 128M --swap 0 --by cgroup-v2 --json -- "$NEAR_LIMIT" /out/killed.timeline.json group 0 \
    > killed.json 2> killed.txt
"$VIEWER" recover killed.timeline.json.log -o recovered.timeline.json > recovered.txt 2>&1

echo "guest: a program with a book, under the limit of an ancestor"
echo 400M > $root/jobs/memory.max
"$BOOK" book.timeline.json > book.out 2>&1
"$VIEWER" reconcile --json book.timeline.json > book.json 2>> book.out
"$VIEWER" reconcile book.timeline.json > book.txt 2>> book.out
echo max > $root/jobs/memory.max

echo "guest: a training run"
"$TRAINER" run-limited --memory 1G --by cgroup-v2 --json -- "$TRAINER" train --model mobilenet_v1 --batch 2 \
    --image-size 32 --steps 2 --threads 1 --data "$DATA" --out /out/trained.timeline.json > trained.json 2> trained.txt
mkdir -p files
for name in memory.current memory.max memory.peak memory.events memory.pressure memory.stat memory.swap.current; do
    cat "$root/jobs/own/$name" > "files/$name" 2>> files/unreadable
done
cat /proc/self/cgroup > files/proc_self_cgroup
sync
