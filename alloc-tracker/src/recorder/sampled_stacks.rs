//! The recorder's part in sampling stacks: it keeps the code map up to date, and finds the names of sampled calls.
#[cfg(feature = "stacks")]
pub use with::SampledStacks;
#[cfg(not(feature = "stacks"))]
pub use without::SampledStacks;

#[cfg(feature = "stacks")]
mod with {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use alloc_replay::SiteTable;
    use alloc_timeline::Record;

    use crate::recorder::output::Output;
    use crate::recorder::stack_names;
    use crate::settings::sampling;
    use crate::stacks::{self, Modules};

    /// The loaded modules that sampled stacks lead through; `None` when no blocks are sampled.
    #[derive(Debug)]
    pub struct SampledStacks(Option<Modules>);

    impl SampledStacks {
        /// Begins sampling. To be called before the first event of a session.
        pub fn begin() -> Self {
            SampledStacks(sampling::is_on().then(stacks::begin))
        }

        /// Whether blocks are sampled.
        pub fn are_on(&self) -> bool {
            self.0.is_some()
        }

        /// The record that stands in the log until the end: it says that stacks are sampled, and with which settings.
        pub fn announcement(&self) -> Option<Record> {
            self.0.as_ref().map(|_| Record::Stacks(Box::new(stack_names::announcement())))
        }

        /// To be called on every tick: adds newly loaded code to the code map.
        pub fn tick(&mut self) {
            if let Some(modules) = &mut self.0 {
                modules.tick();
            }
        }

        /// Finds the names of the sampled calls, in files if `with_files`; returns the record of the bytes that each stack
        /// allocated.
        pub fn named(
            &self,
            sites: impl FnOnce() -> SiteTable,
            with_files: bool,
            output: &mut Output,
        ) -> Option<Record> {
            let modules = self.0.as_ref()?;
            let mut losses = Vec::new();
            // A damaged file may make the reader of debug information panic. That must not cost the timeline.
            let named =
                catch_unwind(AssertUnwindSafe(|| stack_names::stacks(sites(), modules, with_files, &mut losses)));
            if named.is_err() {
                losses.push("stacks: their names could not be found".to_owned());
            }
            losses.into_iter().for_each(|loss| output.lose(loss));
            named.ok().map(|stacks| Record::Stacks(Box::new(stacks)))
        }

        /// Keeps the modules for the next session.
        pub fn keep(&mut self) {
            self.0.take().into_iter().for_each(Modules::keep);
        }
    }
}

/// Stands in for the other, in programs that are built without the feature `stacks`.
#[cfg(not(feature = "stacks"))]
mod without {
    use alloc_replay::SiteTable;
    use alloc_timeline::Record;

    use crate::recorder::output::Output;

    /// Nothing: no blocks are sampled.
    #[derive(Debug)]
    pub struct SampledStacks;

    impl SampledStacks {
        /// Begins nothing.
        pub fn begin() -> Self {
            SampledStacks
        }

        /// Always false.
        pub fn are_on(&self) -> bool {
            false
        }

        /// No record.
        pub fn announcement(&self) -> Option<Record> {
            None
        }

        /// Does nothing.
        pub fn tick(&mut self) {}

        /// No record.
        pub fn named(&self, _: impl FnOnce() -> SiteTable, _: bool, _: &mut Output) -> Option<Record> {
            None
        }

        /// Keeps nothing.
        pub fn keep(&mut self) {}
    }
}
