//! The way from a tensor to the memory that it has, through the objects of PyTorch's: as words of which the places are looked for in tensors
//! whose objects are known ([`Field`]).
//!
//! ```text
//! Tensor, Python's object       TensorImpl               StorageImpl
//!   its type
//!   implementation ----------->   storage ------------->   data -----> the memory
//! ```
use super::field::Field;
use crate::memory::{Direct, Memory};

/// How many words of an object are looked at. All fields stand near the beginning, and what stands behind the end of a small object is
/// another object.
const WORDS: usize = 16;

/// Addresses that belong together: a tensor's objects, and the memory that it has.
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    /// Python's object.
    pub object: u64,
    /// Its type.
    pub kind: u64,
    /// Its `TensorImpl`.
    pub implementation: u64,
    /// Its `StorageImpl`.
    pub storage: u64,
    /// Where its memory begins. This must differ from what the storage's deleter gets, which stands in the storage as well.
    pub data: u64,
}

/// The places at which the fields may stand.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    kind: Field,
    implementation: Field,
    storage: Field,
    data: Field,
}

impl Places {
    /// All of them.
    pub const fn new() -> Places {
        let all = Field::among(WORDS);
        Places { kind: all, implementation: all, storage: all, data: all }
    }

    /// Leaves the places that a tensor allows, whose objects are all alive.
    pub fn narrow(&mut self, tensor: &Tensor, memory: impl Memory) {
        let Tensor { object, kind, implementation, storage, data } = *tensor;
        let known = [
            (&mut self.kind, object, kind),
            (&mut self.implementation, object, implementation),
            (&mut self.storage, implementation, storage),
            (&mut self.data, storage, data),
        ];
        for (field, object, content) in known {
            field.narrow(|at| memory.word(word(object, at)) == Some(content));
        }
    }

    /// Where the fields stand, if that is known. `kind` is the address of the type `torch.Tensor`.
    pub fn objects(&self, kind: u64) -> Option<Objects> {
        Some(Objects {
            tensor: kind,
            kind: self.kind.place()?,
            implementation: self.implementation.place()?,
            storage: self.storage.place()?,
            data: self.data.place()?,
        })
    }
}

/// The address of a word of an object.
fn word(object: u64, at: usize) -> u64 {
    object.wrapping_add((at * size_of::<u64>()) as u64)
}

/// Where the fields stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Objects {
    /// The type `torch.Tensor`.
    tensor: u64,
    kind: usize,
    implementation: usize,
    storage: usize,
    data: usize,
}

impl Objects {
    /// Where the memory of a tensor begins, of which this is the `TensorImpl`; `None` where it has none.
    pub fn data(&self, implementation: u64, memory: impl Memory) -> Option<u64> {
        let storage = memory.word(word(implementation, self.storage))?;
        memory.word(word(storage, self.data)).filter(|&data| data != 0)
    }

    /// The `TensorImpl` of an object of Python's, if its type is `torch.Tensor` and no other, not even one that is made of it.
    ///
    /// # Safety
    /// It is an object of Python's, and the thread holds the interpreter's lock.
    pub unsafe fn implementation(&self, object: *const crate::definition::Object) -> Option<u64> {
        let object = object.cast::<u64>();
        // SAFETY: each object of Python's has its type where all others have it, and one of this type has its implementation where the
        // others have it.
        unsafe { (object.add(self.kind).read() == self.tensor).then(|| object.add(self.implementation).read()) }
    }
}

/// What a live tensor's objects are read by.
///
/// # Safety
/// All that is read by it are a `TensorImpl` that is alive, and the `StorageImpl` that it has.
pub unsafe fn as_they_are() -> Direct {
    // SAFETY: as the caller promises; a tensor without a storage has null there.
    unsafe { Direct::new() }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::memory::Asked;

    /// A tensor with its objects, and each known word where this layout has it.
    struct Made {
        object: [u64; WORDS],
        implementation: [u64; WORDS],
        storage: [u64; WORDS],
    }

    const KIND: u64 = 0x7000;

    fn made(data: u64) -> Box<Made> {
        let mut made = Box::new(Made { object: [0; WORDS], implementation: [1; WORDS], storage: [2; WORDS] });
        made.storage[4] = data;
        made.implementation[2] = made.storage.as_ptr().expose_provenance() as u64;
        made.object[1] = KIND;
        made.object[3] = made.implementation.as_ptr().expose_provenance() as u64;
        made
    }

    fn told(made: &Made) -> Tensor {
        Tensor {
            object: made.object.as_ptr().expose_provenance() as u64,
            kind: KIND,
            implementation: made.object[3],
            storage: made.implementation[2],
            data: made.storage[4],
        }
    }

    #[test]
    fn the_way_is_found_and_gone() {
        let made: Vec<Box<Made>> = (1..=5).map(|number| made(0x9000 * number)).collect();
        let (mut places, memory) = (Places::new(), Asked::new());
        for one in &made[..4] {
            assert_eq!(places.objects(KIND), None);
            places.narrow(&told(one), &memory);
        }
        let objects = places.objects(KIND).expect("four agree");
        let object = |made: &Made| ptr::from_ref(&made.object).cast();
        // SAFETY: these are laid out as such objects, and alive.
        unsafe {
            let implementation = objects.implementation(object(&made[4])).expect("a tensor");
            assert_eq!(objects.data(implementation, as_they_are()), Some(0x9000 * 5));
        }
        let mut other = self::made(1);
        other.object[1] = KIND + 8;
        // SAFETY: as above.
        assert_eq!(unsafe { objects.implementation(object(&other)) }, None, "of another type");
        (other.implementation[2], other.storage[4]) = (0, 0);
        // SAFETY: as above.
        assert_eq!(objects.data(told(&other).implementation, unsafe { as_they_are() }), None, "no storage");
    }

    #[test]
    fn a_tensor_that_disagrees_leaves_nothing() {
        let made: Vec<Box<Made>> = (1..=4).map(|number| made(0x9000 * number)).collect();
        let (mut places, memory) = (Places::new(), Asked::new());
        for (number, one) in made.iter().enumerate() {
            let data = told(one).data + u64::from(number == 2);
            places.narrow(&Tensor { data, ..told(one) }, &memory);
        }
        assert_eq!(places.objects(KIND), None);
    }
}
