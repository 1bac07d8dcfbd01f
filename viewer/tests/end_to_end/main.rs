//! The binary as people call it. One program has all of these tests: it links once.
mod common;

mod any_run;
mod bad_input;
mod check;
mod compare;
mod device_snapshot;
mod devices;
mod draw;
mod export;
mod fates;
mod foreign_names;
mod golden;
mod kinds;
mod made_up_runs;
mod outputs;
mod power;
mod readers;
mod reconcile;
mod recover;
mod report;
mod series;
mod stacks;
mod summary;
mod times;
mod unread;
mod width;
